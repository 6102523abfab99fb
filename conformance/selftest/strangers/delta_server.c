/* A Deltarobot server: delta_server PORT [SWITCH[,SWITCH…]]
 */
#include <assert.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 32, PINGS = 256, KEPT = 16 };
static const char *switches = "";
static const uint8_t HELLO[16] = {0x01, 0x30, 'D', 'e', 'l', 't', 'a', 'R', 'V', 'r', 0x02, 0x20, 1};

struct client {
    int fd, magic, version, closing;
    double since, ping_at, progress_at;
    uint8_t buffer[6 + KEPT]; /* the identifier, the length and the first bytes of the contents */
    size_t filled;
    uint64_t skip, pings[PINGS], sent; /* skip: bytes of the contents that are still to come */
};
static struct client clients[CLIENTS];
static uint8_t bytes[1 << 16];
static int count;

static int has(const char *name) {
    size_t length = strlen(name);
    for (const char *at = switches; (at = strstr(at, name)); at += length)
        if ((at == switches || at[-1] == ',') && (at[length] == ',' || !at[length])) return 1;
    return 0;
}

static double now(void) {
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t), t.tv_sec + t.tv_nsec / 1e9;
}

static void put(struct client *c, const void *bytes, size_t length) {
    if (!c->closing && send(c->fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length) c->closing = 1;
}

static void refuse(struct client *c, const char *reason) {
    uint8_t head[6] = {0x06, 0xF0, strlen(reason)};
    put(c, head, sizeof head);
    put(c, reason, strlen(reason));
    c->closing = 1;
}

static void ping(struct client *c) {
    uint8_t message[10] = {0x04, 0x30};
    if (getrandom(message + 2, 8, 0) != 8) exit(2);
    memcpy(&c->pings[c->sent++ % PINGS], message + 2, 8);
    put(c, message, sizeof message);
}

static void progress(struct client *c) {
    for (int i = 0; i < (has("no-desired") ? 2 : 3); i++) {
        uint8_t message[18] = {"\3\7\10"[i], 0x40};
        memcpy(message + 2, (float[]){0.5f * i, -0.25f, 1.0f, 0.0f}, 16);
        put(c, message, sizeof message);
    }
}

static void begin(struct client *c) {
    float points[9] = {0, 0, 0, 1, 2, -3, 0.5f, 0.25f, 4};
    put(c, "\x09\xF0\x24\0\0\0", 6);
    put(c, points, sizeof points);
    c->ping_at = c->progress_at = now();
}

static int was_sent(struct client *c, const uint8_t *number) {
    for (int i = 0; i < PINGS; i++)
        if (!memcmp(&c->pings[i], number, 8)) return 1;
    return 0;
}

static void position(struct client *c) { (void)c; }
static void (*vectors[16])(struct client *) = {[3] = position, [7] = position, [8] = position};

static void handle(struct client *c, unsigned id, const uint8_t *contents) {
    if (!c->magic || !c->version) {
        if (id == 0x3001 && !c->magic && !memcmp(contents, "DeltaRVr", 8)) c->magic = 1;
        else if (id == 0x2002 && !c->version && !memcmp(contents, "\1\0\0\0", 4)) c->version = 1;
        else refuse(c, "no handshake");
        if (c->magic && c->version) begin(c);
    } else if (id == 0xF006) c->closing = 1;
    else if (id == 0x3005 && has("die-odd-pong")) assert(was_sent(c, contents));
    else if (id >> 12 == 4 && has("die-vector")) vectors[id & 15](c);
    else if ((id & 0xFFF) == 0 && has("close-null")) c->closing = 1;
}

static void feed(struct client *c, const uint8_t *at, size_t length) {
    static const unsigned SIZES[16] = {1, 2, 4, 8, 16};
    for (const uint8_t *end = at + length; at < end && !c->closing;) {
        uint64_t part = c->skip < (uint64_t)(end - at) ? c->skip : (uint64_t)(end - at);
        at += part, c->skip -= part;
        if (!part) c->buffer[c->filled++] = *at++;
        if (c->filled < 2) continue;
        unsigned id = c->buffer[0] | c->buffer[1] << 8, size = id >> 12, head = size == 15 ? 6 : 2;
        if (size > 4 && size < 15) { refuse(c, "undefined size"); return; }
        if (c->filled < head) continue;
        uint32_t contents = SIZES[size];
        if (size == 15) memcpy(&contents, c->buffer + 2, 4);
        uint32_t kept = contents < KEPT ? contents : KEPT;
        if (c->filled < head + kept) continue;
        if (!part) c->skip = contents - kept;
        if (c->skip) continue;
        c->filled = 0;
        handle(c, id, c->buffer + head);
    }
    if (has("close-split") && (c->filled || c->skip)) c->closing = 1;
}

int main(int argc, char **argv) {
    if (argc > 2) switches = argv[2];
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in address = {AF_INET, htons(atoi(argv[1])), {htonl(INADDR_LOOPBACK)}, {0}};
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 16)) return perror("bind"), 2;
    for (;;) {
        struct pollfd polled[CLIENTS + 1] = {{listener, POLLIN, 0}};
        for (int i = 0; i < count; i++) polled[i + 1] = (struct pollfd){clients[i].fd, POLLIN, 0};
        poll(polled, count + 1, 5);
        for (int i = 0, n = count; i < n; i++) {
            struct client *c = &clients[i];
            ssize_t length = polled[i + 1].revents ? recv(c->fd, bytes, sizeof bytes, 0) : 1;
            if (length <= 0) c->closing = 1;
            else if (polled[i + 1].revents) feed(c, bytes, length);
            int served = c->magic && c->version;
            if (!served && now() > c->since + 0.5) refuse(c, "no handshake");
            if (served && now() > c->ping_at && !(has("ping-once") && c->sent)) ping(c), c->ping_at += 0.05;
            if (served && now() > c->progress_at) progress(c), c->progress_at += 0.02;
        }
        for (int i = count - 1; i >= 0; i--)
            if (clients[i].closing) close(clients[i].fd), clients[i] = clients[--count];
        if (!(polled[0].revents & POLLIN) || count == CLIENTS) continue;
        clients[count] = (struct client){.fd = accept(listener, 0, 0), .since = now()};
        setsockopt(clients[count].fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        fcntl(clients[count].fd, F_SETFL, O_NONBLOCK);
        put(&clients[count++], HELLO, sizeof HELLO);
    }
}
