# A small agent in Perl for the tests of forks: asks a model over Gemini's API, whole answers, and
# calls its one tool, which reads note.txt. Prompts come from its terminal until /quit.
use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP;

$| = 1;
my $json = JSON::PP->new->canonical->utf8;
my $url = "$ENV{GOOGLE_GEMINI_BASE_URL}/v1beta/models/m-1:generateContent";
my @said;
my $tools = [{ functionDeclarations => [{ name => "read_note", description => "note.txt" }] }];

# The parts of the answer; its text is shown.
sub ask {
    my $answer = HTTP::Tiny->new(timeout => 30)->post($url, {
        headers => { "content-type" => "application/json" },
        content => $json->encode({ contents => \@said, tools => $tools }),
    });
    if (!$answer->{success}) {
        print "error $answer->{status}: ", substr($answer->{content}, 0, 200), "\n";
        return ();
    }
    my @parts = @{ $json->decode($answer->{content})->{candidates}[0]{content}{parts} || [] };
    my $text = join "", map { $_->{text} || "" } @parts;
    print "$text\n" if $text;
    return @parts;
}

sub note {
    open my $file, "<", "note.txt" or return "none";
    chomp(my $text = <$file>);
    print "[read note.txt: $text]\n";
    return $text;
}

print "> ";
while (my $prompt = <STDIN>) {
    chomp $prompt;
    last if $prompt eq "/quit";
    push @said, { role => "user", parts => [{ text => $prompt }] };
    while (my @parts = ask()) {
        push @said, { role => "model", parts => \@parts };
        my @calls = grep { $_ } map { $_->{functionCall} } @parts or last;
        push @said, { role => "user", parts => [
            map { { functionResponse => { name => $_->{name}, response => { output => note() } } } } @calls
        ] };
    }
    print "> ";
}
print "bye\n";
