/* Starts one recorded program and becomes its supervisor. See process.py for the whole picture.
 *
 * The recorder starts this executable by posix_spawn(3), so none of the recorder's Python code,
 * objects, locks or descriptors is in this process. Its descriptors are:
 *
 *   0  the slave side of the program's PTY        2  the control socket
 *   1  a file with the plan                       3, 4, 5  stdin, stdout, stderr, where given
 *
 * The plan is a list of words, each with a NUL after it:
 *
 *   FORM RECORDER GRACE_MS LINGERS STREAMS CORES_SOFT CORES_HARD PATH CWD
 *   COUNT the supervisor's argv   COUNT the program's argv   COUNT the program's environment
 *
 * STREAMS is a bit for each given stream. CORES are limits for the program, or empty. An empty
 * CWD is this process's own. Reports on the socket: "P PID" names the program, "E ERRNO STAGE"
 * says why there is none, "X STATUS" how it ended.
 *
 * All signals are blocked: a signal for the recorder's group must not end this process. A program
 * that ends soon, with nothing left of it, never costs an interpreter. Otherwise this process
 * executes the supervisor (_supervisor.py). _supervisor.py can do the same without this file.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#define FORM "1"
#define SHORT_MS 250
#define TTY 10 /* where the descriptors are kept, away from 0 to 5 */
#define CONTROL 11
#define STAGE_CWD 'c'

extern char **environ;

static char *at, *end; /* the rest of the plan */

static char *word(void) {
    char *found = at, *stop = memchr(at, 0, (size_t)(end - at));
    if (!stop)
        _exit(125);
    at = stop + 1;
    return found;
}

static char **words(void) {
    long count = atol(word());
    char **list = count < 0 || count > end - at ? NULL : calloc((size_t)count + 1, sizeof *list);
    if (!list)
        _exit(125);
    for (long i = 0; i < count; i++)
        list[i] = word();
    return list;
}

static void read_plan(void) {
    struct stat found;
    if (fstat(1, &found) < 0 || !(at = malloc((size_t)found.st_size + 1)))
        _exit(125);
    off_t have = 0;
    while (have < found.st_size) {
        ssize_t count = pread(1, at + have, (size_t)(found.st_size - have), have);
        if (count <= 0)
            _exit(125);
        have += count;
    }
    end = at + have;
}

static void close_from(int low) {
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)low, ~0U, 0) == 0)
        return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = low; fd < (most < 0 || most > 1 << 20 ? 1 << 20 : most); fd++)
        close(fd);
}

static void report(const char *text) {
    /* The recorder may be gone already: then the program needs a supervisor to end it. */
    ssize_t sent = send(CONTROL, text, strlen(text), 0);
    (void)sent;
}

static void set_cores(const char *soft, const char *hard) {
    if (!*soft)
        return;
    struct rlimit limit = {strtoull(soft, NULL, 10), strtoull(hard, NULL, 10)};
    setrlimit(RLIMIT_CORE, &limit);
}

static void fail(int errors, char stage) {
    int32_t what[2] = {errno, stage};
    ssize_t sent = write(errors, what, sizeof what);
    (void)sent;
    _exit(127);
}

int main(void) {
    char text[64];
    close_from(6);
    setsid();
    if (dup2(0, TTY) < 0 || dup2(2, CONTROL) < 0)
        _exit(125);
    read_plan();
    if (strcmp(word(), FORM) != 0)
        _exit(125);
    const char *recorder = word(), *grace = word(), *lingers = word();
    int given = atoi(word());
    const char *soft = word(), *hard = word(), *path = word(), *cwd = word();
    char **supervisor = words(), **argv = words(), **env = words();
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#endif
    int errors[2];
    if (pipe(errors) < 0)
        _exit(125);
    int gone = dup2(errors[1], 12);
    close(errors[1]);
    fcntl(gone, F_SETFD, FD_CLOEXEC);
    set_cores(soft, hard);
    pid_t program = fork();
    if (program < 0) {
        snprintf(text, sizeof text, "P %d\nE %d fork\n", (int)getpid(), errno);
        report(text);
        return 0;
    }
    if (program == 0) {
        setsid();
        if (given != 7)
            ioctl(TTY, TIOCSCTTY, 0);
        for (int i = 0; i < 3; i++)
            dup2(given & 1 << i ? 3 + i : TTY, i);
        for (int fd = 3; fd < gone; fd++)
            close(fd);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (*cwd && chdir(cwd) < 0)
            fail(gone, STAGE_CWD);
        execve(path, argv, env);
        fail(gone, 'e');
    }
    close(gone);
    int32_t what[2];
    ssize_t count;
    while ((count = read(errors[0], what, sizeof what)) < 0 && errno == EINTR)
        ;
    if (count == sizeof what) {
        const char *stage = what[1] == STAGE_CWD ? "cwd" : "exec";
        snprintf(text, sizeof text, "P %d\nE %d %s\n", (int)program, (int)what[0], stage);
        report(text);
        waitpid(program, NULL, 0);
        return 0;
    }
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    for (int fd = 3; fd < CONTROL; fd++)
        close(fd);
    close_from(CONTROL + 1);
    snprintf(text, sizeof text, "P %d\n", (int)program);
    report(text);
    if (*soft)
        set_cores("0", hard);
    if (chdir("/") < 0)
        return 125;
    int ended = 0;
#if defined(__linux__) && defined(SYS_pidfd_open)
    int watched = atoi(lingers) ? -1 : (int)syscall(SYS_pidfd_open, program, 0);
    if (watched >= 0) {
        struct pollfd wait_for[2] = {{watched, POLLIN, 0}, {CONTROL, POLLIN, 0}};
        poll(wait_for, 2, SHORT_MS);
        int status;
        if (waitpid(program, &status, WNOHANG) == program) {
            snprintf(text, sizeof text, "X %d\n", status);
            report(text);
            ended = 1;
            for (;;) {
                siginfo_t other = {0};
                if (waitid(P_ALL, 0, &other, WEXITED | WNOHANG | WNOWAIT) < 0)
                    return 0; /* nothing is left of it */
                if (!other.si_pid || other.si_code != CLD_EXITED || other.si_status)
                    break; /* it runs, or the supervisor looks at how it failed */
                waitpid(other.si_pid, NULL, 0);
            }
        }
        close(watched);
    }
#endif
    size_t n = 0;
    while (supervisor[n])
        n++;
    char **command = calloc(n + 8, sizeof *command), number[3][16];
    if (!command)
        return 125;
    memcpy(command, supervisor, n * sizeof *command);
    snprintf(number[0], sizeof number[0], "%d", CONTROL);
    snprintf(number[1], sizeof number[1], "%d", (int)program);
    snprintf(number[2], sizeof number[2], "%d", ended);
    command[n] = number[0];
    command[n + 1] = number[1];
    command[n + 2] = (char *)recorder;
    command[n + 3] = (char *)grace;
    command[n + 4] = (char *)lingers;
    command[n + 5] = number[2];
    execve(command[0], command, environ);
    return 127;
}
