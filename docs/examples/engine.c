/* A small inference engine in C: it reads a Llama checkpoint of transformers (config.json and model.safetensors in one folder) and
 * continues a prompt greedily. All that it knows of position comes from gnomon: what the file says, and attention with a cache.
 *
 *   cc -std=c99 -O2 engine.c $(pkg-config --cflags --libs gnomon-lab) -lm -o engine
 *   ./engine FOLDER COUNT ID [ID ...]      token ids in; the next COUNT ids out
 *
 * For families that are built as Llama is: RMS norms, a gated feed-forward part with SiLU, no biases, no norms of q and k. */
#include <gnomon.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char* what, const char* which) {
  fprintf(stderr, "engine: %s%s\n", what, which);
  exit(2);
}
static void check(gnomon_status status) {
  if (status != GNOMON_OK) stop("", gnomon_last_error());
}
static void* memory(size_t bytes) {
  void* found = malloc(bytes ? bytes : 1);
  if (!found) stop("no memory", "");
  return found;
}
static float* floats(int64_t n) { return memory((size_t)n * sizeof(float)); }

/* A file as a text that ends with 0. */
static char* content(const char* folder, const char* name, size_t* size) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) stop("too long: ", folder);
  FILE* file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) stop("cannot read ", path);
  const long end = ftell(file);
  rewind(file);
  char* text = memory((size_t)end + 1);
  if (end < 0 || fread(text, 1, (size_t)end, file) != (size_t)end) stop("cannot read ", path);
  fclose(file);
  text[end] = 0;
  if (size) *size = (size_t)end;
  return text;
}

/* --- Weights: safetensors is the size of a header, the header as JSON, and numbers. */

typedef struct weights {
  char *header, *numbers;
} weights;

static weights read_weights(const char* folder) {
  size_t size = 0;
  char* file = content(folder, "model.safetensors", &size);
  uint64_t header = 0;
  for (int i = 7; size >= 8 && i >= 0; --i) header = header << 8 | (unsigned char)file[i];
  if (!header || header > size - 8) stop("model.safetensors has no header", "");
  weights w = {memory(header + 1), file + 8 + header};
  memcpy(w.header, file + 8, header);
  w.header[header] = 0;
  return w;
}

/* What follows "key": in a JSON text from `from` on; null: no such key. Enough for headers and configurations that a program wrote. */
static const char* after_key(const char* from, const char* key) {
  char quoted[256];
  snprintf(quoted, sizeof quoted, "\"%s\"", key);
  const char* at = from ? strstr(from, quoted) : NULL;
  return at ? strchr(at, ':') + 1 : NULL;
}

static float from_bfloat16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* A tensor in float32; `count`: how many numbers it has. Null where the file has none of that name. */
static float* tensor(const weights* w, const char* name, int64_t* count) {
  const char* entry = after_key(w->header, name);
  if (!entry) return NULL;
  const char *type = after_key(entry, "dtype"), *offsets = after_key(entry, "data_offsets");
  unsigned long long first, end;
  if (!type || !offsets || sscanf(offsets, " [ %llu , %llu", &first, &end) != 2) stop("cannot read ", name);
  const int wide = strncmp(strchr(type, '"'), "\"F32\"", 5) == 0;
  if (!wide && strncmp(strchr(type, '"'), "\"BF16\"", 6)) stop("neither F32 nor BF16: ", name);
  const int64_t n = (int64_t)(end - first) / (wide ? 4 : 2);
  float* values = floats(n);
  if (wide) memcpy(values, w->numbers + first, (size_t)n * 4);
  for (int64_t i = 0; !wide && i < n; ++i) {
    uint16_t bits;
    memcpy(&bits, w->numbers + first + 2 * i, 2);
    values[i] = from_bfloat16(bits);
  }
  if (count) *count = n;
  return values;
}

static float* layer_tensor(const weights* w, int64_t layer, const char* name) {
  char full[128];
  snprintf(full, sizeof full, "model.layers.%d.%s.weight", (int)layer, name);
  float* values = tensor(w, full, NULL);
  if (!values) stop("no tensor ", full);
  return values;
}

/* --- The model */

typedef struct layer {
  float *norm1, *q, *k, *v, *o, *norm2, *gate, *up, *down;
  gnomon_attention_config sizes;
  gnomon_attention* attention;
  gnomon_cache* cache;
} layer;

typedef struct engine {
  int64_t width, hidden, words, layers;
  float epsilon;
  float *table, *norm, *head;
  layer* layer;
} engine;

static void open_layer(engine* e, const weights* w, const gnomon_model* model, int64_t n, int64_t tokens) {
  layer* l = &e->layer[n];
  gnomon_layer_info info = GNOMON_LAYER_INFO_INIT;
  gnomon_attention_config sizes = GNOMON_ATTENTION_CONFIG_INIT;
  check(gnomon_model_layer(model, n, &info));
  check(gnomon_model_attention(model, n, &sizes));
  check(gnomon_attention_create(info.spec, &sizes, &l->attention));
  /* A full cache serves every spec: a window is part of it. A ring of info.window tokens would do with less memory. */
  check(gnomon_cache_create(l->attention, 1, tokens, 0, &l->cache));
  l->sizes = sizes;
  l->norm1 = layer_tensor(w, n, "input_layernorm"), l->norm2 = layer_tensor(w, n, "post_attention_layernorm");
  l->q = layer_tensor(w, n, "self_attn.q_proj"), l->k = layer_tensor(w, n, "self_attn.k_proj");
  l->v = layer_tensor(w, n, "self_attn.v_proj"), l->o = layer_tensor(w, n, "self_attn.o_proj");
  l->gate = layer_tensor(w, n, "mlp.gate_proj"), l->up = layer_tensor(w, n, "mlp.up_proj");
  l->down = layer_tensor(w, n, "mlp.down_proj");
}

static engine open_engine(const char* folder, int64_t tokens) {
  const weights w = read_weights(folder);
  char* config = content(folder, "config.json", NULL);
  gnomon_model* model = NULL;
  gnomon_model_info info = GNOMON_MODEL_INFO_INIT;
  check(gnomon_model_open(folder, NULL, &model));
  check(gnomon_model_describe(model, &info));
  if (strcmp(info.family, "llama")) stop("this engine runs llama, not ", info.family);
  const char* epsilon = after_key(config, "rms_norm_eps");
  engine e = {info.width, 0,    0,    info.layers, epsilon ? (float)strtod(epsilon, NULL) : 1e-6f,
              NULL,       NULL, NULL, NULL};
  int64_t count = 0;
  e.table = tensor(&w, "model.embed_tokens.weight", &count), e.norm = tensor(&w, "model.norm.weight", NULL);
  if (!e.table || !e.norm) stop("no table of words", "");
  e.words = count / e.width;
  e.head = tensor(&w, "lm_head.weight", NULL);
  if (!e.head) e.head = e.table; /* tied */
  if (!tensor(&w, "model.layers.0.mlp.up_proj.weight", &count)) stop("no feed-forward part", "");
  e.hidden = count / e.width;
  e.layer = memory((size_t)e.layers * sizeof *e.layer);
  for (int64_t n = 0; n < e.layers; ++n) open_layer(&e, &w, model, n, tokens);
  gnomon_model_free(model);
  return e;
}

/* y (rows, out) = x (rows, in) times the matrix (out, in), transposed; added to y where `add`. */
static void multiply(const float* x, int64_t rows, int64_t in, const float* matrix, int64_t out, int add,
                     float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      const float *a = x + r * in, *b = matrix + o * in;
      float sum = 0;
      for (int64_t i = 0; i < in; ++i) sum += a[i] * b[i];
      y[r * out + o] = sum + (add ? y[r * out + o] : 0);
    }
  }
}

static void normalise(const engine* e, const float* x, int64_t rows, const float* gain, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += e->width, y += e->width) {
    float square = 0;
    for (int64_t c = 0; c < e->width; ++c) square += x[c] * x[c];
    const float factor = 1 / sqrtf(square / (float)e->width + e->epsilon);
    for (int64_t c = 0; c < e->width; ++c) y[c] = x[c] * factor * gain[c];
  }
}

static gnomon_view rows_of(float* data, int64_t rows, int64_t heads, int64_t channels) {
  const int64_t extents[4] = {1, heads, rows, channels};
  return gnomon_tokens_first(data, GNOMON_FLOAT32, extents);
}

/* x (rows, width) through attention and the feed-forward part of a layer; n has room for as much. */
static void through(const engine* e, const layer* l, float* x, int64_t rows, float* n) {
  const int64_t H = l->sizes.heads, G = l->sizes.kv_heads, D = l->sizes.head_dim;
  float *q = floats(rows * H * D), *k = floats(rows * G * D), *v = floats(rows * G * D),
        *out = floats(rows * H * D);
  normalise(e, x, rows, l->norm1, n);
  multiply(n, rows, e->width, l->q, H * D, 0, q);
  multiply(n, rows, e->width, l->k, G * D, 0, k);
  multiply(n, rows, e->width, l->v, G * D, 0, v);
  gnomon_attention_input in = GNOMON_ATTENTION_INPUT_INIT;
  in.q = rows_of(q, rows, H, D), in.k = rows_of(k, rows, G, D), in.v = rows_of(v, rows, G, D);
  const gnomon_view to = rows_of(out, rows, H, D);
  check(gnomon_decode(l->attention, &in, l->cache, &to)); /* rotates, keeps the keys, attends */
  multiply(out, rows, H * D, l->o, e->width, 1, x);
  free(q), free(k), free(v), free(out);

  float *gate = floats(rows * e->hidden), *up = floats(rows * e->hidden);
  normalise(e, x, rows, l->norm2, n);
  multiply(n, rows, e->width, l->gate, e->hidden, 0, gate);
  multiply(n, rows, e->width, l->up, e->hidden, 0, up);
  for (int64_t i = 0; i < rows * e->hidden; ++i) gate[i] *= up[i] / (1 + expf(-gate[i]));
  multiply(gate, rows, e->hidden, l->down, e->width, 1, x);
  free(gate), free(up);
}

/* The likeliest token after `rows` more tokens. */
static int64_t next(const engine* e, const int64_t* ids, int64_t rows) {
  float *x = floats(rows * e->width), *n = floats(rows * e->width), *logits = floats(e->words);
  for (int64_t r = 0; r < rows; ++r) {
    if (ids[r] < 0 || ids[r] >= e->words) stop("an id is not in the vocabulary", "");
    memcpy(x + r * e->width, e->table + ids[r] * e->width, (size_t)e->width * sizeof *x);
  }
  for (int64_t l = 0; l < e->layers; ++l) through(e, &e->layer[l], x, rows, n);
  normalise(e, x + (rows - 1) * e->width, 1, e->norm, n);
  multiply(n, 1, e->width, e->head, e->words, 0, logits);
  int64_t best = 0;
  for (int64_t word = 1; word < e->words; ++word) best = logits[word] > logits[best] ? word : best;
  free(x), free(n), free(logits);
  return best;
}

int main(int count, char** words) {
  if (count < 4) stop("expected FOLDER COUNT ID [ID ...]", "");
  const int64_t more = strtol(words[2], NULL, 10), prompt = count - 3;
  int64_t* ids = memory((size_t)prompt * sizeof *ids);
  for (int64_t n = 0; n < prompt; ++n) ids[n] = strtol(words[n + 3], NULL, 10);
  const engine e = open_engine(words[1], prompt + more);
  int64_t last = next(&e, ids, prompt);
  for (int64_t n = 0; n < more; ++n) {
    printf(n ? " %d" : "%d", (int)last);
    if (n + 1 < more) last = next(&e, &last, 1);
  }
  printf("\n");
  return 0;
}
