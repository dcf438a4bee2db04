/* The hot loop of an interactive recording, compiled: keys to the program, its output to the
 * journal and then to the screen. It serves what comes by the thousand and nothing else; all that
 * is rare (signals, the end, errors, passwords, a full queue) ends the run, and the loop in
 * interactive.py, which does all of it as well, takes over. Records are those of
 * recording/journal.py, byte for byte. No memory is allocated; compiled_relay.py owns all of it.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#if defined __x86_64__ && defined __GNUC__
#include <cpuid.h>
#include <immintrin.h>
#define FOLDS 1
#endif

/* As in relay_limits.py. */
enum { KEY_BYTES = 4 << 10, BATCH_BYTES = 16 << 10, READ_BYTES = 32 << 10, SMALL_BYTES = 512 };
enum { UNSHOWN_BYTES = 64 << 10, MOST_READS = BATCH_BYTES / SMALL_BYTES + 1, MOST_OTHERS = 4 };
enum { HELD_MS = 10 };

/* As in recording/journal.py. */
enum { KIND_BATCH = 1, KIND_KEY = 3, KIND_READ = 4 };
enum { HEAD_BYTES = 21, CRC_BYTES = 4 };

/* Why a run ended. */
enum { LOOK = 0, KEY = 1, JOURNAL_FAILED = 2 };

/* As CompiledRelay._State in compiled_relay.py. */
struct relay {
    int32_t master, in_fd, out_fd, journal_fd;
    int32_t others[MOST_OTHERS]; /* -1 for none; what comes there ends the run */
    uint32_t salt, index;
    int64_t start_us, deadline_us; /* of CLOCK_MONOTONIC; deadline 0 for none */
    uint64_t written;              /* bytes of whole records since the run began */
    int64_t key_us;
    int32_t key_count, key_sent, key_secret; /* of a key that the caller completes */
    int32_t error;                           /* errno of the journal */
    uint32_t unshown_at, unshown_count;
    uint8_t key[KEY_BYTES];
    uint8_t unshown[UNSHOWN_BYTES + BATCH_BYTES + READ_BYTES];
    uint8_t data[BATCH_BYTES + READ_BYTES];
    uint32_t table[8][256]; /* of the checksum */
    int32_t folds;          /* whether the processor multiplies without carries */
};

uint32_t relay_size(void) { return sizeof(struct relay); }

#ifdef FOLDS
enum { FOLDED_BYTES = 64 };

/* The value of CRC-32 after `count` bytes, at least 64 and a multiple of 16: four times as fast
 * as by tables. From "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction"
 * (Gopal et al., Intel, 2009), with the constants given there for the reflected polynomial. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t folded(uint32_t value, const uint8_t *data,
                                                                size_t count) {
    const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i by_8 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i barrett = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i low = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i part[4];
    for (int at = 0; at < 4; at++) part[at] = _mm_loadu_si128((const __m128i *)data + at);
    part[0] = _mm_xor_si128(part[0], _mm_cvtsi32_si128((int)value));
    for (data += 64, count -= 64; count >= 64; data += 64, count -= 64)
        for (int at = 0; at < 4; at++) {
            __m128i next = _mm_loadu_si128((const __m128i *)data + at);
            __m128i first = _mm_clmulepi64_si128(part[at], by_64, 0x00);
            __m128i last = _mm_clmulepi64_si128(part[at], by_64, 0x11);
            part[at] = _mm_xor_si128(_mm_xor_si128(first, last), next);
        }
    __m128i all = part[0];
    for (int at = 1; count || at < 4; at++) {
        __m128i next = at < 4 ? part[at] : _mm_loadu_si128((const __m128i *)data);
        if (at >= 4) data += 16, count -= 16;
        __m128i first = _mm_clmulepi64_si128(all, by_16, 0x00);
        __m128i last = _mm_clmulepi64_si128(all, by_16, 0x11);
        all = _mm_xor_si128(_mm_xor_si128(first, last), next);
    }
    all = _mm_xor_si128(_mm_srli_si128(all, 8), _mm_clmulepi64_si128(all, by_16, 0x10));
    all = _mm_xor_si128(_mm_srli_si128(all, 4),
                        _mm_clmulepi64_si128(_mm_and_si128(all, low), by_8, 0x00));
    __m128i rest = _mm_clmulepi64_si128(_mm_and_si128(all, low), barrett, 0x10);
    rest = _mm_clmulepi64_si128(_mm_and_si128(rest, low), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(all, rest), 1);
}
#endif

/* CRC-32 as in zlib (RFC 1952): eight bytes at a time, or far more where the processor can. */
void relay_prepare(struct relay *relay) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (0xEDB88320u & -(value & 1));
        relay->table[0][byte] = value;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int row = 1; row < 8; row++) {
            uint32_t before = relay->table[row - 1][byte];
            relay->table[row][byte] = before >> 8 ^ relay->table[0][before & 0xFF];
        }
#ifdef FOLDS
    unsigned a, b, c = 0, d;
    relay->folds = __get_cpuid(1, &a, &b, &c, &d) && c & bit_PCLMUL && c & bit_SSE4_1;
#endif
}

static uint32_t number_at(const uint8_t *at) {
    return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t relay_crc32(const struct relay *relay, const uint8_t *data, size_t count, uint32_t start) {
    const uint32_t(*table)[256] = relay->table;
    uint32_t value = ~start;
#ifdef FOLDS
    if (relay->folds && count >= FOLDED_BYTES) {
        size_t most = count & ~(size_t)15;
        value = folded(value, data, most);
        data += most;
        count -= most;
    }
#endif
    for (; count >= 8; data += 8, count -= 8) {
        uint32_t low = value ^ number_at(data), high = number_at(data + 4);
        value = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^
                table[4][low >> 24] ^ table[3][high & 0xFF] ^ table[2][high >> 8 & 0xFF] ^
                table[1][high >> 16 & 0xFF] ^ table[0][high >> 24];
    }
    for (; count; data++, count--) value = value >> 8 ^ table[0][(value ^ *data) & 0xFF];
    return ~value;
}

/* Goes on from where it was when the clock goes back, as `Steady` in system/clock.py. */
static int64_t now_us(void) {
    static int64_t shown, behind;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t read = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
    int64_t at = read >= shown ? read : read + behind;
    if (at < shown) {
        behind = shown - read;
        at = shown;
    }
    return shown = at;
}

static int64_t moment_us(const struct relay *relay) { return now_us() - relay->start_us; }

static uint8_t *put(uint8_t *at, uint64_t value, int bytes) {
    for (; bytes; bytes--, value >>= 8) *at++ = (uint8_t)value;
    return at;
}

/* The framing of a record whose body is `lead`, already in its place, and then `data`. */
static void frame(struct relay *relay, uint8_t *at, int kind, int64_t t_us, size_t lead,
                  const uint8_t *data, size_t count) {
    static const uint8_t mark[4] = {0xA7, 'j', 'r', 0xF1};
    uint8_t *body = at + HEAD_BYTES + CRC_BYTES;
    memcpy(at, mark, sizeof mark);
    put(at + 4, relay->index++, 4);
    put(at + 8, lead + count, 4);
    put(at + 12, (uint64_t)t_us, 8);
    at[20] = (uint8_t)kind;
    uint32_t crc = relay_crc32(relay, at, HEAD_BYTES, relay->salt);
    crc = relay_crc32(relay, body, lead, crc);
    put(at + HEAD_BYTES, relay_crc32(relay, data, count, crc), 4);
}

/* The record of the key that is held, if one is; its length. */
static size_t frame_key(struct relay *relay, uint8_t *at) {
    size_t count = (size_t)relay->key_count;
    if (!count) return 0;
    at[HEAD_BYTES + CRC_BYTES] = 0; /* not masked */
    memcpy(at + HEAD_BYTES + CRC_BYTES + 1, relay->key, count);
    frame(relay, at, KIND_KEY, relay->key_us, 1 + count, NULL, 0);
    relay->key_count = 0;
    return HEAD_BYTES + CRC_BYTES + 1 + count;
}

/* Append to the journal. Whether all of it is there; `error` says why not. */
static int append(struct relay *relay, const uint8_t *lead, size_t lead_count, const uint8_t *data,
                  size_t count) {
    struct iovec parts[2] = {{(void *)lead, lead_count}, {(void *)data, count}};
    struct iovec *part = parts;
    size_t left = lead_count + count;
    while (left) {
        ssize_t done = writev(relay->journal_fd, part, (int)(parts + 2 - part));
        if (done < 0) {
            if (errno == EINTR) continue;
            relay->error = errno;
            return 0;
        }
        left -= (size_t)done;
        while (part < parts + 2 && (size_t)done >= part->iov_len) done -= (ssize_t)part++->iov_len;
        if (part < parts + 2) {
            part->iov_base = (uint8_t *)part->iov_base + done;
            part->iov_len -= (size_t)done;
        }
    }
    relay->written += lead_count + count;
    return 1;
}

static int flush(struct relay *relay) {
    uint8_t record[HEAD_BYTES + CRC_BYTES + 1 + KEY_BYTES];
    return append(relay, record, frame_key(relay, record), NULL, 0);
}

/* What the screen takes of `data`; -1 when it is gone. */
static ssize_t show(const struct relay *relay, const uint8_t *data, size_t count) {
    ssize_t done = write(relay->out_fd, data, count);
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    return done;
}

/* Whether the screen is still there. */
static int show_rest(struct relay *relay) {
    ssize_t done = show(relay, relay->unshown + relay->unshown_at, relay->unshown_count);
    if (done < 0) return 0;
    relay->unshown_count -= (uint32_t)done;
    relay->unshown_at = relay->unshown_count ? relay->unshown_at + (uint32_t)done : 0;
    return 1;
}

static void keep_unshown(struct relay *relay, const uint8_t *data, size_t count) {
    if (relay->unshown_at + relay->unshown_count + count > sizeof relay->unshown) {
        memmove(relay->unshown, relay->unshown + relay->unshown_at, relay->unshown_count);
        relay->unshown_at = 0;
    }
    memcpy(relay->unshown + relay->unshown_at + relay->unshown_count, data, count);
    relay->unshown_count += (uint32_t)count;
}

/* Drain the program's terminal into one batch. 1: go on; 0: look; -1: the journal failed. */
static int pass_output(struct relay *relay, int64_t woke_us) {
    int64_t moments[MOST_READS];
    uint32_t counts[MOST_READS];
    size_t at = 0;
    int reads = 0, open = 1;
    while (at < BATCH_BYTES && reads < MOST_READS) {
        ssize_t count = read(relay->master, relay->data + at, sizeof relay->data - at);
        if (count <= 0) {
            open = count < 0 && (errno == EAGAIN || errno == EINTR);
            break;
        }
        moments[reads] = reads ? moment_us(relay) : woke_us;
        counts[reads++] = (uint32_t)count;
        at += (size_t)count;
        if (count < SMALL_BYTES) break;
    }
    if (!at) return open;
    uint8_t lead[2 * (HEAD_BYTES + CRC_BYTES) + 1 + KEY_BYTES + 4 + 8 * MOST_READS];
    size_t size = frame_key(relay, lead);
    uint8_t *record = lead + size, *body = record + HEAD_BYTES + CRC_BYTES;
    size_t table = 0;
    if (reads > 1) {
        uint8_t *entry = put(body, (uint64_t)reads, 4);
        for (int number = 0; number < reads; number++) {
            entry = put(entry, (uint64_t)(moments[number] - moments[0]), 4);
            entry = put(entry, counts[number], 4);
        }
        table = (size_t)(entry - body);
    }
    frame(relay, record, reads > 1 ? KIND_BATCH : KIND_READ, moments[0], table, relay->data, at);
    size += HEAD_BYTES + CRC_BYTES + table;
    if (!append(relay, lead, size, relay->data, at)) return -1;
    if (relay->out_fd < 0) return open;
    size_t done = 0;
    if (!relay->unshown_count) {
        ssize_t shown = show(relay, relay->data, at);
        done = shown < 0 ? 0 : (size_t)shown; /* if it is gone, show_rest will find out */
    }
    keep_unshown(relay, relay->data + done, at - done);
    return open;
}

/* Whether the program reads a line and does not show it: a password prompt. */
static int reads_secret(const struct relay *relay) {
    struct termios modes;
    if (tcgetattr(relay->master, &modes)) return 0;
    return modes.c_lflag & ICANON && !(modes.c_lflag & ECHO);
}

/* Hand a key to the program. 1: go on; 0: look; 2: the caller completes it; -1: failed. */
static int pass_key(struct relay *relay, int64_t woke_us) {
    if (relay->key_count && !flush(relay)) return -1;
    ssize_t count = read(relay->in_fd, relay->key, KEY_BYTES);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
    if (count <= 0) return 0;
    int ends_line = 0;
    for (ssize_t at = 0; at < count; at++) ends_line |= relay->key[at] < 0x20;
    relay->key_count = (int32_t)count;
    relay->key_us = woke_us;
    /* What may end a line is asked about before the program can have gone on. */
    relay->key_secret = ends_line && reads_secret(relay);
    ssize_t sent = write(relay->master, relay->key, (size_t)count);
    relay->key_sent = sent < 0 ? 0 : (int32_t)sent;
    if (!ends_line) relay->key_secret = reads_secret(relay);
    return relay->key_secret || sent < count ? 2 : 1;
}

/* Relay until there is something for the caller to do. What is held is in the journal then. */
int relay_run(struct relay *relay) {
    struct pollfd watched[3 + MOST_OTHERS];
    enum { MASTER, IN, OUT, OTHERS };
    int status = 1;
    relay->written = 0;
    relay->unshown_at = relay->unshown_count = 0;
    relay->key_count = 0;
    relay->error = 0;
    watched[MASTER].fd = relay->master;
    watched[IN] = (struct pollfd){relay->in_fd, POLLIN, 0};
    for (int number = 0; number < MOST_OTHERS; number++)
        watched[OTHERS + number] = (struct pollfd){relay->others[number], POLLIN, 0};
    while (status == 1) {
        int timeout_ms = -1;
        if (relay->deadline_us) {
            int64_t left_ms = (relay->deadline_us - now_us()) / 1000 + 1;
            if (left_ms <= 0) break;
            timeout_ms = left_ms > 1000000 ? 1000000 : (int)left_ms;
        }
        if (relay->key_count) timeout_ms = HELD_MS;
        watched[MASTER].events = relay->unshown_count > UNSHOWN_BYTES ? 0 : POLLIN;
        watched[OUT] = (struct pollfd){relay->unshown_count ? relay->out_fd : -1, POLLOUT, 0};
        int ready = poll(watched, 3 + MOST_OTHERS, timeout_ms);
        int64_t woke_us = moment_us(relay);
        if (ready < 0) break;
        if (!ready) {
            if (relay->key_count && !flush(relay)) status = -1;
            continue;
        }
        for (int number = 0; number < MOST_OTHERS; number++)
            if (watched[OTHERS + number].revents) status = 0;
        /* Hung up, it is ready although nothing was asked for: there may be no room for more. */
        if (!status || (watched[MASTER].revents | watched[IN].revents) & ~POLLIN) break;
        if (watched[OUT].revents && !show_rest(relay)) break;
        if (watched[MASTER].revents) {
            status = pass_output(relay, woke_us);
            if (watched[IN].revents) woke_us = moment_us(relay);
        }
        if (status == 1 && watched[IN].revents) {
            /* A signal comes first: what is typed after a resize is typed into the new size. */
            if (poll(watched + OTHERS, MOST_OTHERS, 0) > 0) status = 0;
            else status = pass_key(relay, woke_us);
        }
    }
    if (status == 2) return KEY;
    if (status >= 0 && relay->key_count && !flush(relay)) status = -1;
    return status < 0 ? JOURNAL_FAILED : LOOK;
}
