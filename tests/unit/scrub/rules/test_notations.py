"""Names that declare: what stands behind them in the notations of configuration is masked.

And what only looks near stays: paths, counts, placeholders, digests, ids, code.
"""

from __future__ import annotations

import random
import string

import pytest

from ptycassette.scrub.session import default_scrubber

GENERATED = "".join(random.Random(11).choices(string.ascii_letters + string.digits, k=15)) + "7"
DIGITS = "".join(random.Random(5).choices("123456789", k=6))
WORD = "let" + "mein"

# With a generated value, with six digits, and with a word that people choose.
NOTATIONS = (
    # variables, shells
    "DB_PASSWORD={}", "export DB_PASSWORD={}", "export DB_PASSWORD='{}'", 'DB_PASSWORD="{}"',
    "MYSQL_ROOT_PASSWORD: {}", "set -x DB_PASSWORD {}", "set -gx DB_PASSWORD '{}'",
    "setenv DB_PASSWORD {}", "$env:DB_PASSWORD = '{}'", "set DB_PASSWORD={}",
    "env DB_PASSWORD={} ./run", "docker run -e POSTGRES_PASSWORD={} postgres",
    "ENV DB_PASSWORD={}", "ARG DB_PASSWORD={}", "Environment=DB_PASSWORD={}",
    'Environment="DB_PASSWORD={}"', "0 3 * * * DB_PASSWORD={} /usr/bin/backup",
    # YAML, TOML, INI, properties, HCL
    "password: {}", "  password: '{}'", 'password: "{}"', "db_password: {}",
    'password = "{}"', "password = {}", "spring.datasource.password={}",
    "spring.datasource.password: {}", "quarkus.datasource.password={}", "db.password = {}",
    "ansible_become_password: {}", "ansible_ssh_pass={}", 'db_password = "{}"',
    "auth:\n  rootPassword: {}", "--set postgresql.auth.password={}",
    'variable "db_password" {{\n  default = "{}"\n}}', "POSTGRES_PASSWORD: '{}'",
    "- POSTGRES_PASSWORD={}",
    "client_secret: {}", "secret_key_base: {}", "[client]\nuser=root\npassword={}",
    # JSON, XML, literals
    '"password": "{}"', '{{"DB_PASSWORD": "{}"}}', "<password>{}</password>",
    '<add key="Password" value="{}"/>', '<property name="password" value="{}"/>',
    '<property name="hibernate.connection.password">{}</property>',
    '<entry key="db.password">{}</entry>', "'password' => '{}',", '"password" => "{}",',
    ":password => '{}'", "password: '{}',", "os.environ['SECRET_KEY'] = '{}'",
    'os.environ["DB_PASSWORD"] = "{}"', 'app.config["SECRET_KEY"] = "{}"', "SECRET_KEY = '{}'",
    "'PASSWORD': '{}',", 'password := "{}"', 'Password: "{}",', 'let password = "{}";',
    'const PASSWORD: &str = "{}";', 'String password = "{}";', 'const password = "{}";',
    '#define DB_PASSWORD "{}"', "define('DB_PASSWORD', '{}');", "$password = '{}';",
    "$config['password'] = '{}';", "process.env.DB_PASSWORD = '{}'", "ENV['DB_PASSWORD'] = '{}'",
    'setenv("DB_PASSWORD", "{}", 1)', 'props.setProperty("db.password", "{}");',
    # databases
    "CREATE USER a IDENTIFIED BY '{}';", "CREATE USER app WITH PASSWORD '{}';",
    "ALTER USER app PASSWORD '{}'", "SET PASSWORD FOR 'a'@'%' = '{}';",
    "CREATE LOGIN app WITH PASSWORD = '{}'", "ALTER ROLE app WITH ENCRYPTED PASSWORD '{}'",
    "GRANT ALL ON *.* TO a IDENTIFIED BY '{}'", "requirepass {}", "masterauth {}",
    "redis-cli -a {} ping", "localhost:5432:db:app:{}", "PGPASSWORD={} psql",
    "mysql -u root -p{} db",
    "mysql --password={} db", "mongosh -u app -p {} db", "sqlplus app/{}@db",
    # connection strings
    "jdbc:mysql://h/db?user=app&password={}", "jdbc:sqlserver://h;user=app;password={};",
    "Server=h;Database=d;User Id=app;Password={};", "Driver={{SQL}};Uid=app;Pwd={};",
    "postgres://app:{}@db/app", "amqp://app:{}@mq:5672/", "mongodb+srv://app:{}@h/db",
    "redis://:{}@cache:6379", "host=db user=app password={} dbname=x", "smb://u:{}@host/share",
    # commands
    "kubectl create secret generic x --from-literal=password={}", "docker login -u bot -p {}",
    "curl -u ada:{} https://h/", "curl --user ada:{} https://h/", "htpasswd -b users ada {}",
    "sshpass -p {} ssh h", "wget --password={} https://h/", "mysqladmin -u root password {}",
    "net use z: \\\\h\\s /user:ada {}", "openssl enc -pass pass:{}", "zip -P {} a.zip b",
    "unzip -P {} a.zip", "gpg --passphrase {} -d f", "ldapsearch -D cn=a -w {} -b dc=x",
    "smbclient //h/s -U ada%{}", "rabbitmqctl add_user ada {}", "chpasswd <<< 'ada:{}'",
    "useradd -p {} ada", "npm config set //h/:_password {}", "git config user.password {}",
    # other files
    "machine h login ada password {}", "bindpw {}", "rootpw {}", "olcRootPW: {}",
    "snmp-server community {} RO", "rocommunity {}", "wpa_passphrase={}", 'psk="{}"',
    "enable secret {}", "username ada password {}", "password {}", "proxy_password {}",
    "ssl_passphrase: {}", "smtp_pass: {}", "userPassword: {}",
    "admin_password = {}", "The temporary password is {}", "Your password: {}", "PIN/password: {}",
    "login: ada / password: {}", "initialAdminPassword: {}", "Password for ada: {}",
    # a name and its value side by side; lists, objects and blocks below a name
    '{{"name": "DB_PASSWORD", "value": "{}"}}', '{{"name":"DB_PASSWORD","value":"{}"}}',
    '{{"Name": "DB_PASSWORD", "Value": "{}"}}', '{{"key": "DB_PASSWORD", "value": "{}"}}',
    '{{\n  "name": "DB_PASSWORD",\n  "value": "{}"\n}}', '{{"value": "{}", "name": "DB_PASSWORD"}}',
    '{{"ParameterKey": "DBPassword", "ParameterValue": "{}"}}',
    '{{"Key": "DBPassword", "Value": "{}"}}',
    '{{"name": "DB_PASSWORD", "type": "secret", "value": "{}"}}',
    '{{"name": "db-password", "secure": true, "value": "{}"}}', "- name: DB_PASSWORD\n  value: {}",
    '- name: DB_PASSWORD\n  value: "{}"', "  - name: 'DB_PASSWORD'\n    value: '{}'",
    "- key: DB_PASSWORD\n  value: {}", "- value: {}\n  name: DB_PASSWORD",
    "key: db_password\nvalue: {}", "- {{name: DB_PASSWORD, value: {}}}",
    '- {{ name: DB_PASSWORD, value: "{}" }}', '<env name="DB_PASSWORD" value="{}"/>',
    "<env name='DB_PASSWORD' value='{}'/>", '<env value="{}" name="DB_PASSWORD"/>',
    "<property>\n  <name>db.password</name>\n  <value>{}</value>\n</property>",
    '<setting name="DbPassword" type="string" value="{}"/>',
    '<setting name="DbPassword" serializeAs="String">\n  <value>{}</value>\n</setting>',
    '<Parameter name="password" value="{}"></Parameter>', "name,value\nDB_PASSWORD,{}",
    '"name","value"\n"DB_PASSWORD","{}"', "name;value\nDB_PASSWORD;{}",
    "name\tvalue\nDB_PASSWORD\t{}", "name,value\nDB_USER,ada\nDB_PASSWORD,{}\nX,y",
    'set {{\n  name  = "auth.password"\n  value = "{}"\n}}',
    'set_sensitive {{\n  name = "db_password"\n  value = "{}"\n}}',
    'name = "DB_PASSWORD"\nvalue = "{}"', "password:\n  value: {}", 'DB_PASSWORD:\n  value: "{}"',
    'password:\n  default: "{}"', "password: >-\n  {}", "password: |\n  {}", "passwords:\n  - {}",
    'DB_PASSWORD: ["{}"]', '{{"password": ["{}"]}}', '{{"DB_PASSWORD": {{"value": "{}"}}}}',
    '{{"db_password": {{"sensitive": true, "type": "string", "value": "{}"}}}}',
    '{{"passwords": {{"ada": "{}"}}}}', '{{"passwords": ["{}", "x"]}}', "passwords:\n  ada: {}",
    'password = ["{}"]', '[password]\nvalue = "{}"', "//registry.corp/:_password={}",
    "jq: name=DB_PASSWORD value={}", "Name: DB_PASSWORD\nValue: {}", "name: DB_PASSWORD, value: {}",
    "[name=DB_PASSWORD, value={}]", 'EnvVar(name="DB_PASSWORD", value="{}")',
    "{{'name': 'DB_PASSWORD', 'value': '{}'}}", '{{Name: "DB_PASSWORD", Value: "{}"}}',
    '{{"Name":"DB_PASSWORD","Type":"SecureString","Value":"{}"}}',
    "ParameterKey=DbPassword,ParameterValue={}", "name=db_password,value={}",
    "<key>DB_PASSWORD</key>\n<string>{}</string>", "<key>Password</key><string>{}</string>",
)  # fmt: skip

OF_DIGITS_STAY = ("password {}", "proxy_password {}")
OF_LETTERS_STAY = (
    *OF_DIGITS_STAY, "password: {}", "password = {}", "db.password = {}", "client_secret: {}",
    "secret_key_base: {}", "[client]\nuser=root\npassword={}", "admin_password = {}",
    "The temporary password is {}", "Your password: {}", "PIN/password: {}",
    "login: ada / password: {}", "Password for ada: {}",
)  # fmt: skip
"""A word there may be part of a sentence or the name of a variable."""

INNOCENT = r"""
pwd: /workspace
PWD=/workspace
OLDPWD=/root/project
pwd=~/projects/app
$ pwd
password: ********
Password: ••••••••
password is required
password is too short
password is incorrect, try again
password was changed
password must have 12 characters
Password: 8 to 64 characters
password_length: 16
min_password_length=12
passwords: 1234
tokens: 1234
max_tokens=4096
max_tokens: 200000
total_tokens=18234
input_tokens: 99999, output_tokens: 12
"prompt_tokens": 18234, "completion_tokens": 221
cache_read_input_tokens: 123456
token_count = 48291
Tokens used: 48,291
tokens per second: 1234.56
installation_id=5f0c6f1e-8d4a-4f7b-a3c5-1e0d9f8b7a6c is no account
request_id=9b2f6c1e-8d4a-4f7b-a3c5-1e0d9f8b7a6c
session id: 9b2f6c1e-8d4a-4f7b-a3c5-1e0d9f8b7a6c
trace_id: 4bf92f3577b34da6a3ce929d0e0e4736
id: 12345678901234567890
order 12345678901234567890 shipped
offset=12345678901234567890
git@github.com:corp/app.git
git clone git@github.com:corp/app.git
ssh git@gitlab.com
Author: Dependabot <noreply@github.com>
commit 5f0c6f1e8d4a4f7ba3c51e0d9f8b7a6c5f0c6f1e
HEAD is now at 5f0c6f1 Fix the parser
index 5f0c6f1e..8d4a4f7b 100644
sha256:5f0c6f1e8d4a4f7ba3c51e0d9f8b7a6c5f0c6f1e8d4a4f7ba3c51e0d9f8b7a6c
etag: "5f0c6f1e8d4a4f7ba3c51e0d9f8b7a6c"
digest: sha256-5f0c6f1e8d4a4f7b
password = input("Password: ")
password = getpass.getpass()
password = os.environ["DB_PASSWORD"]
password = os.getenv("DB_PASSWORD", "")
password=password, user=user
connect(user=user, password=password)
connect(host, password=None)
def login(self, user: str, password: str) -> bool:
def check(password: bytes, salt: bytes) -> None: ...
if password == confirm_password:
self.password = password
self._password = None
user.password = hash_password(raw)
user.password_hash = value
return password
password: String,
password: string;
password?: string
password String?
password VARCHAR(255) NOT NULL,
password TEXT
private String password;
let password: &str;
const password = req.body.password;
const { password } = req.body;
<input type="password" name="password">
<input type="password" placeholder="Password" value="">
<label for="password">Password</label>
"password": {"type": "string"}
"password": "string"
"password": null
"password": ""
"password": "********"
"password": "<password>"
"password": "${DB_PASSWORD}"
password: ${{ secrets.DB_PASSWORD }}
password: "{{ vault_password }}"
password: !vault |
password: {{ .Values.db.password }}
PASSWORD=$DB_PASSWORD
PASSWORD=${DB_PASSWORD:-}
DB_PASSWORD=$(cat /run/secrets/db)
DB_PASSWORD=changeme
DB_PASSWORD=your_password_here
DB_PASSWORD=<your password>
export GITHUB_TOKEN=$(gh auth token)
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
token = os.environ["GITHUB_TOKEN"]
token: Optional[str] = None
token = next(tokens)
token = self._tokens[0]
Token(type=NAME, value=x)
unexpected token '}' at line 12
SyntaxError: Unexpected token < in JSON at position 0
access_token: expired
token expired at 2026-11-27T21:00:00Z
token_type: bearer
token_endpoint: /oauth/token
the secret is out
secret: projects/x/secrets/y
secretName: db-credentials
secretKeyRef:
kind: Secret
kubectl get secret db-credentials -o yaml
kubectl create secret generic x --from-literal=env=production
kubectl create secret generic x --from-file=key.pem
vault kv get secret/data/app
--password string   Password for the registry
--password-stdin    Take the password from stdin
--password PASSWORD the password to use
--password-file /run/secrets/pw
--token TOKEN       the token to use (default: $GH_TOKEN)
--api-key KEY       API key
-p, --password      prompt for password
mysql -u root -p
mysql -u root -p database
psql -h localhost -p 5432 -U app app
docker login -u bot --password-stdin registry.example
docker run -p 8080:80 nginx
ssh -p 2222 host
mkdir -p build/out
curl -u "$USER:$PASS" https://host/
curl -u user:password https://example.com/
curl -o out.json https://host/
unzip -p archive.zip file.txt
zip -r out.zip dir
useradd -m -s /bin/bash ada
ldapsearch -x -W -b dc=example,dc=com
redis-cli -h cache ping
openssl x509 -in cert.pem -noout -text
gpg --verify file.sig file
htpasswd -c /etc/nginx/.htpasswd ada
sqlplus / as sysdba
requirepass foobared
# requirepass foobared
snmp-server community public RO
CREATE USER app;
ALTER USER app SET search_path = app;
CREATE TABLE users (id int, password text);
SELECT password FROM users WHERE id = 1234;
IDENTIFIED BY 'password'
localhost:5432 - accepting connections
postgres://localhost:5432/app
postgres://user:password@localhost/app
redis://cache:6379/0
amqp://guest@mq:5672/
https://docs.python.org/3/library/secrets.html
https://host/p?key=value&page=2
/run/secrets/db_password
/etc/passwd
/etc/shadow: Permission denied
passwd: password updated successfully
chpasswd < users.txt
sudo: a password is required
[sudo] password for ada:
Enter passphrase for key '/home/user/.ssh/id_ed25519':
Enter password:
Forgot password?
Reset your password
Password reset link sent
Passwords do not match
password123 is on the list of common words
test_password_is_hashed PASSED
tests/test_password.py::test_reset PASSED
auth: enabled
auth = HTTPBasicAuth(user, password)
authors = ["A U Thor <author@example.com>"]
author: ada
authorization: required
Authorization: Bearer $TOKEN
cookie: none
cookies: 12
key: value
key = lambda x: x[1]
key=value
keys: 1234
api_key: required
primary_key: id
foreign key (user_id) references users (id)
private key: not found
public_key: ssh-ed25519
SSH_KEY_PATH=/home/user/.ssh/id_ed25519
KEYBOARD=us
monkey=banana
salt: 16 bytes
psk: disabled
pin: 2.1.0
wpa_passphrase <ssid>
access denied
accessKey: s
basic authentication of users
Basic auth is disabled
bearer of bad news
credentials: include
credential.helper=store
const secret = process.env.SECRET;
SECRET_KEY = config("SECRET_KEY")
SECRET_KEY = get_random_secret_key()
app.config["SECRET_KEY"] = os.urandom(24)
JWT_SECRET=
define('WP_DEBUG', true);
$wpdb->password
@Value("${spring.datasource.password}")
spring.datasource.password=${DB_PASSWORD}
db_password: "{{ lookup('env', 'DB_PASSWORD') }}"
password: required|min:8
'password' => 'required|confirmed'
validates :password, presence: true
t.string :password_digest
password_field :user, :password
i18n.t("password.reset.title")
"forgot_password": "Forgot your password?"
Password (8+ characters)
3 passwords found, 1204 checked
1234 tokens, 56 messages
version: 4.8.2913
build 482913 passed
PID 482913
port: 54321
2026-11-27 21:19:39 INFO tokens refreshed
error 403: invalid token
rate limit: 5000 tokens/min
user: root
username: admin
login: ada
host=db user=app dbname=x
""".strip("\n").split("\n")


def left(line: str, value: str) -> bool:
    """Whether the value is still there once the line is scrubbed as a text."""
    return value in default_scrubber().text(line, channel="output")


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_generated_value_is_masked(notation: str) -> None:
    """Whatever the notation."""
    assert not left(notation.format(GENERATED), GENERATED)


@pytest.mark.parametrize("notation", [one for one in NOTATIONS if one not in OF_DIGITS_STAY])
def test_digits_behind_a_name_are_masked(notation: str) -> None:
    """They are no number there: the name declares a password."""
    assert not left(notation.format(DIGITS), DIGITS)


@pytest.mark.parametrize("notation", [one for one in NOTATIONS if one not in OF_LETTERS_STAY])
def test_a_word_behind_a_name_is_masked(notation: str) -> None:
    """Where it can be nothing but the value."""
    assert not left(notation.format(WORD), WORD)


INNOCENT_PAIRS = (
    '{"tokens": {"input": 12345678, "model": "gpt-4o-2024-11-20", "at": "2026-01-02T10:11:12Z"}}',
    '{"token": {"type": "string", "pattern": "^[A-Za-z0-9]{8}$", "description": "A token2use"}}',
    '{"auth": {"mode": "oauth2", "provider": "github2", "url": "https://a.b/c1d2"}}',
    '{"name": "get_secret_token", "arguments": {"path": "src/v2/main3.py"}, "value": null}',
    '{"name": "password", "in": "query", "schema": {"type": "string", "default": "string"}}',
    '{"secrets": ["DB_PASSWORD", "API_TOKEN_V2", "stripe-key-2"]}',
    "secrets:\n  db_password:\n    file: ./db_password2.txt\n  key:\n    external: true",
    "secrets: inherit\nwith:\n  token: ${{ secrets.GITHUB_TOKEN }}",
    "- name: DB_PASSWORD\n  valueFrom:\n    key: password\n- name: LOG2\n  value: info1234x",
    '{"key": "tokenizer.model", "value": "gpt2-medium-345m"}', '{"tokens": ["Hello", "world2"]}',
    "- name: api_key\n  in: header\n  required: true\n  schema:\n    type: string",
    '<input type="password" name="password" value="" id="password2">',
    "cookies:\n  - name: theme\n    value: dark1234mode", "token,count\nthe,1234567",
    "rules: { password: [required, min6chars] }", "auth:\n  - name: x2y3z4a5\n",
    'password: [{ required: true, message: "Password2 is required" }]',
    'tokens:\n  color: "#ff00aa"\n  space4x: 16px\n  font-size-2xl: 1.5rem2',
    'export const tokens = { blue500: "rgb1a2b", sha: "9b2f6c1e8d4a4f7b" }',
    '{"name": "cache_key", "value": "linux-x64-node20-9b2f6c1e"}',
    '{"name": "partition_key", "value": "user2024-11"}',
    '{"name": "PATH", "value": "/usr/local/bin"}, {"name": "KEY_COUNT", "value": "12345678"}',
    "- name: SSH_AUTH_SOCK\n  value: /tmp/ssh-a1b2c3/agent.12",
)  # fmt: skip


@pytest.mark.parametrize("line", [*INNOCENT, *INNOCENT_PAIRS])
def test_what_only_looks_near_stays(line: str) -> None:
    """Not a character of it changes."""
    assert default_scrubber().text(line, channel="output") == line
