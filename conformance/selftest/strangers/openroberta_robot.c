/* An Open Roberta robot without a user interface: openroberta_robot HOST PORT [SWITCH[,SWITCH...]].
   It speaks HTTP/1.0, with a connection for each request, and keeps everything in fixed buffers. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *host, *port, *words = "";
static char token[9], answer[1 << 20];
static long got, body; /* bytes of the answer, and the place where its body begins */
static int pushes, finished; /* finished: the next push tells that a program has ended */

static int on(const char *word) {
  size_t length = strlen(word);
  for (const char *at = words; (at = strstr(at, word)); at++)
    if ((at == words || at[-1] == ',') && (!at[length] || at[length] == ',')) return 1;
  return 0;
}

static int dial(void) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(host, port, &hints, &found)) return -1;
  int s = socket(found->ai_family, SOCK_STREAM, 0);
  if (connect(s, found->ai_addr, found->ai_addrlen)) close(s), s = -1;
  freeaddrinfo(found);
  return s;
}

/* The Content-Length of the answer, or -1. */
static long announced(void) {
  for (char *at = answer; (at = strstr(at, "\r\n")) && at < answer + body - 4; at += 2)
    if (!strncasecmp(at + 2, "Content-Length:", 15)) return atol(at + 17);
  return -1;
}

/* Sends a request and reads its answer. Returns the status, or -1 if no whole answer comes. */
static int request(const char *method, const char *path, const char *object) {
  char text[4096];
  int s = dial(), length, status = -1;
  if (s < 0) return -1;
  length = snprintf(text, sizeof text, "%s %s HTTP/1.%d\r\nHost: %s:%s\r\n", method, path,
                    on("says-1.1"), host, port);
  if (object)
    length += snprintf(text + length, sizeof text - length,
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                       strlen(object) + on("counts-the-end"), object);
  else
    length += snprintf(text + length, sizeof text - length, "\r\n");
  send(s, text, length + on("sends-the-end"), MSG_NOSIGNAL);
  got = body = 0;
  long whole = -1;
  for (ssize_t n; (n = recv(s, answer + got, sizeof answer - 1 - got, 0)) > 0;) {
    answer[got += n] = 0;
    char *end = strstr(answer, "\r\n\r\n");
    if (end && !body) {
      body = end + 4 - answer;
      whole = announced();
    }
    if (on("receives-once") || (body && whole >= 0 && got - body >= whole)) break;
  }
  close(s);
  if (!body || (whole > got - body && !on("receives-once"))) return -1;
  sscanf(answer, "HTTP/%*d.%*d %d", &status);
  return status;
}

/* Copies a string without its escapes; returns its end. */
static const char *copy(const char *at, char *to, size_t size) {
  size_t n = 0;
  for (; *at && *at != '"'; at++) {
    unsigned c = (unsigned char)*at;
    if (c == '\\') {
      c = (unsigned char)*++at;
      if (c == 'u') sscanf(at + 1, "%4x", &c), at += 4;
    }
    if (n < size - 1) to[n++] = c > 127 ? '?' : (char)c;
  }
  to[n] = 0;
  return at;
}

/* Finds the command in the answer's object. Returns 0 if there is none. */
static int find_command(char *to, size_t size) {
  char key[64] = "", text[512];
  int depth = 0, is_key = 1;
  for (const char *at = answer + body; *at; at++) {
    if (strchr("{[", *at)) depth++;
    if (strchr("}]", *at)) depth--;
    if (strchr("{,", *at)) is_key = 1;
    if (*at == ':') is_key = 0;
    if (*at != '"') continue;
    at = copy(at + 1, text, sizeof text);
    if (!*at) return 0;
    if (depth == 1 && is_key) snprintf(key, sizeof key, "%.60s", text);
    if (depth == 1 && !is_key && !strcmp(key, "cmd")) return snprintf(to, size, "%.60s", text);
  }
  return 0;
}

/* Sends the data object. Returns the status, or -1. */
static int post(const char *path, const char *command) {
  char object[1024];
  int n = snprintf(object, sizeof object,
                   "{\"firmwarename\": \"NXT\", \"robot\": \"nxt\", \"macaddr\": \"usb\", "
                   "\"cmd\": \"%s\", \"firmwareversion\": \"1.0\", \"token\": \"%s\", "
                   "\"brickname\": \"NXT\", \"battery\": \"7.9\", \"menuversion\": \"1.%d\"",
                   command, token, on("version-counts") ? pushes : 3);
  if (finished) n += snprintf(object + n, sizeof object - n, ", \"nepoexitvalue\": 0");
  snprintf(object + n, sizeof object - n, "}");
  return request("POST", path, object);
}

static void run(void) {
  if (post("/rest/download", "push") != 200) return (void)usleep(100000);
  double seconds = strncmp(answer + body, "wait ", 5) ? 0.01 : atof(answer + body + 5);
  if (!on("runs-aside")) usleep(seconds * 1e6);
  finished = 1;
}

int main(int count, char **given) {
  char command[64];
  host = given[1], port = given[2], words = count > 3 ? given[3] : "";
  srand(time(NULL) ^ getpid() << 8);
  for (int registered = 0;;) {
    if (!registered)
      for (int i = 0; i < 8; i++) token[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[rand() % 36];
    pushes += registered;
    if (post("/rest/pushcmd", registered ? "push" : "register") != 200 ||
        !find_command(command, sizeof command)) {
      usleep(100000);
      continue;
    }
    finished = 0;
    if (!registered)
      registered = !strcmp(command, "repeat");
    else if (!strcmp(command, "download"))
      run();
    else if (!strcmp(command, "update")) {
      request("GET", "/rest/update/v1/runtime", NULL);
      request("GET", "/rest/update/v1/ev3menu", NULL);
      registered = 0;
    } else if (!strcmp(command, "abort"))
      registered = 0;
  }
}
