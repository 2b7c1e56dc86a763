// A small GPT with RoPE and a whole training step, in plain loops and in double: what the rest of this project does fast.
// Read it from top to bottom. tests/nn/example_test.cpp holds gnomon's own trainer to it.
//
//   g++ -O2 -std=c++20 examples/train.cpp && ./a.out book.txt
//
// Tokens are bytes, V = 256 of them. The model reads a window of T tokens and predicts at each place the token after it.
// C is the width of the residual stream, H the number of heads, D = C/H the head dim, F = 4C the hidden width.
// Each part has its backward beside its forward. forward keeps what backward needs. backward is given dy, the gradient of the
// loss for what forward returned. It adds to the gradients dw of its parameters, and returns dx, that for x.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <list>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace plain {
struct Matrix {  // zeros to begin with; m[row][column]
  int rows = 0, columns = 0;
  std::vector<double> numbers = std::vector<double>(std::size_t(rows * columns));
  double* operator[](int row) { return numbers.data() + row * columns; }
  const double* operator[](int row) const { return numbers.data() + row * columns; }
};
double dot(int n, const double* x, const double* y) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}
void add(int n, double factor, const double* x, double* y) {  // y += factor·x
  for (int i = 0; i < n; ++i) y[i] += factor * x[i];
}
Matrix operator+(Matrix a, const Matrix& b) {
  add(a.rows * a.columns, 1, b[0], a[0]);
  return a;
}
struct Parameter {
  Matrix w;                                    // its value
  bool decays;                                 // AdamW pulls it towards 0
  Matrix dw{w.rows, w.columns}, m{dw}, v{dw};  // its gradient; for AdamW, means of that and of its square
};

// --- Linear: y = x·weightᵀ + bias
struct Linear {
  Parameter &weight, &bias;  // (out, in); (1, out), or empty
  Matrix x = {};             // (T, in)
  Matrix forward(const Matrix& in) {
    x = in;
    Matrix y{x.rows, weight.w.rows};
    for (int t = 0; t < y.rows; ++t) {
      for (int o = 0; o < y.columns; ++o) y[t][o] = dot(x.columns, weight.w[o], x[t]);
      add(bias.w.columns, 1, bias.w[0], y[t]);
    }
    return y;
  }
  Matrix backward(const Matrix& dy) {
    Matrix dx{x.rows, x.columns};
    for (int t = 0; t < dy.rows; ++t) {
      for (int o = 0; o < dy.columns; ++o) {
        add(x.columns, dy[t][o], x[t], weight.dw[o]);
        add(x.columns, dy[t][o], weight.w[o], dx[t]);
      }
      add(bias.w.columns, 1, dy[t], bias.dw[0]);
    }
    return dx;
  }
};

// --- LayerNorm: y = gain·x̂ + bias, x̂ = r·(x − mean), r = 1/√(variance + ε), row by row. Ba et al. 2016, arXiv 1607.06450
struct LayerNorm {
  Parameter &gain, &bias;   // (1, C)
  Matrix hat = {}, r = {};  // x̂ (T, C); (T, 1)
  Matrix forward(const Matrix& x) {
    const int C = x.columns;
    Matrix y = hat = x;
    r = {x.rows, 1};
    for (int t = 0; t < x.rows; ++t) {
      double mean = 0;
      for (int c = 0; c < C; ++c) mean += x[t][c] / C;
      for (int c = 0; c < C; ++c) hat[t][c] -= mean;
      r[t][0] = 1 / std::sqrt(dot(C, hat[t], hat[t]) / C + 1e-5);
      for (int c = 0; c < C; ++c) y[t][c] = gain.w[0][c] * (hat[t][c] *= r[t][0]) + bias.w[0][c];
    }
    return y;
  }
  // A row that moves along (1, 1, …) or along x̂ keeps its x̂ (but for ε): those directions of dx̂ = gain·dy are taken out.
  Matrix backward(const Matrix& dy) {
    const int C = dy.columns;
    Matrix dx = dy;
    for (int t = 0; t < dy.rows; ++t) {
      double mean = 0;
      for (int c = 0; c < C; ++c) {
        gain.dw[0][c] += dy[t][c] * hat[t][c], bias.dw[0][c] += dy[t][c];
        mean += (dx[t][c] *= gain.w[0][c]) / C;
      }
      const double along = dot(C, dx[t], hat[t]) / C;
      for (int c = 0; c < C; ++c) dx[t][c] = r[t][0] * (dx[t][c] - mean - along * hat[t][c]);
    }
    return dx;
  }
};

// --- GELU in its tanh form: y = x·(1 + tanh u)/2, u = √(2/π)·(x + 0.044715 x³). Hendrycks, Gimpel 2016, arXiv 1606.08415
struct Gelu {
  Matrix x = {};
  static double u(double a) { return std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * a * a * a); }
  static double du(double a) { return std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * a * a); }
  Matrix forward(Matrix y) {
    x = y;
    for (double& a : y.numbers) a *= (1 + std::tanh(u(a))) / 2;
    return y;
  }
  Matrix backward(Matrix d) {
    for (std::size_t n = 0; n < d.numbers.size(); ++n) {
      const double a = x.numbers[n], t = std::tanh(u(a));
      d.numbers[n] *= (1 + t + a * (1 - t * t) * du(a)) / 2;
    }
    return d;
  }
};

// --- Causal attention with RoPE
struct Attention {
  int H, D;  // heads, head dim
  // (T, 3C): q of all heads, then k, then v; (T, H·T): what each query gives to each key; (T, C): what the heads return
  Matrix qkv = {}, weights = {}, mixed = {};
  // RoPE: channels i and i + D/2 of a head are a point in a plane, which turns at position t by the angle t·10000^(−2i/D): the
  // first pairs fast, the last slowly. As q and k turn alike, q·k sees only how far apart they are. Nothing is learned. A
  // gradient turns back: direction −1. Su et al. 2021, arXiv 2104.09864
  void turn(Matrix& rows, int direction) const {
    for (int t = 0; t < rows.rows; ++t) {
      for (int n = 0; n < H * D; ++n) {  // pairs of q, then of k
        const int i = n % (D / 2), first = n / (D / 2) * D + i;
        const double angle = direction * t * std::pow(10000, -2.0 * i / D);
        double &x = rows[t][first], &y = rows[t][first + D / 2], old = x;
        x = std::cos(angle) * old - std::sin(angle) * y;
        y = std::sin(angle) * old + std::cos(angle) * y;
      }
    }
  }
  // Query t of head h sees the keys 0..t. q, k, v: first columns of the head.
  Matrix forward(const Matrix& in) {
    const int T = in.rows, C = H * D;
    qkv = in, weights = {T, H * T}, mixed = {T, C};
    turn(qkv, 1);
    for (int n = 0; n < T * H; ++n) {
      const int t = n / H, h = n % H, q = h * D, k = C + q, v = C + k;
      double *w = weights[t] + h * T, sum = 0;
      for (int j = 0; j <= t; ++j) w[j] = dot(D, qkv[t] + q, qkv[j] + k) / std::sqrt(D);
      const double most = *std::max_element(w, w + t + 1);  // so that exp does not overflow
      for (int j = 0; j <= t; ++j) sum += w[j] = std::exp(w[j] - most);
      for (int j = 0; j <= t; ++j) add(D, w[j] /= sum, qkv[j] + v, mixed[t] + q);
    }
    return mixed;
  }
  Matrix backward(const Matrix& dy) {
    const int T = dy.rows, C = H * D;
    Matrix d{T, 3 * C};
    for (int n = 0; n < T * H; ++n) {
      const int t = n / H, h = n % H, q = h * D, k = C + q, v = C + k;
      const double *w = weights[t] + h * T, mean = dot(D, dy[t] + q, mixed[t] + q);  // Σ w·dw
      for (int j = 0; j <= t; ++j) {
        // dw − mean, as softmax does not see what is added to all logits alike.
        const double dlogit = w[j] * (dot(D, dy[t] + q, qkv[j] + v) - mean) / std::sqrt(D);
        add(D, w[j], dy[t] + q, d[j] + v);
        add(D, dlogit, qkv[j] + k, d[t] + q);
        add(D, dlogit, qkv[t] + q, d[j] + k);
      }
    }
    turn(d, -1);
    return d;
  }
};

// --- The model. Each half of a block reads the residual stream h through a norm, and adds to it
struct Block {
  LayerNorm attention_norm, feed_forward_norm;
  Linear qkv, out, up, down;  // C to 3C, C to C, C to F, F to C
  Attention attention;
  Gelu gelu = {};
  Matrix forward(Matrix h) {
    h = h + out.forward(attention.forward(qkv.forward(attention_norm.forward(h))));
    return h + down.forward(gelu.forward(up.forward(feed_forward_norm.forward(h))));
  }
  Matrix backward(Matrix dh) {
    dh = dh + feed_forward_norm.backward(up.backward(gelu.backward(down.backward(dh))));
    return dh + attention_norm.backward(qkv.backward(attention.backward(out.backward(dh))));
  }
};
struct Config {
  int layers = 2, width = 64, heads = 4, vocabulary = 256, window = 64, steps = 200, batch = 8;
  double rate = 3e-3, warmup = 0.05, final_rate = 0.1;  // the last two: shares of the steps and of the rate
  double beta1 = 0.9, beta2 = 0.95, decay = 0.1, clip = 1;
};
struct GPT {
  Config c;
  std::mt19937_64 random{1};
  std::list<Parameter> parameters = {};                                        // the parts refer to them
  Parameter& embedding = make(c.vocabulary, c.width, 1 / std::sqrt(c.width));  // (V, C)
  LayerNorm last_norm = norm();
  Linear head{make(c.vocabulary, c.width, 0.02), make(1, 0)};
  std::vector<Block> blocks = {};
  GPT(const GPT&) = delete;
  explicit GPT(const Config& config) : c(config) {
    const int C = c.width, F = 4 * C;
    const double less = 1 / std::sqrt(2.0 * c.layers);  // 2·layers parts add up: GPT-2, section 2.3
    for (int l = 0; l < c.layers; ++l) {
      const Linear out = linear(C, C, less), up = linear(C, F), down = linear(F, C, less);
      blocks.push_back({norm(), norm(), linear(C, 3 * C), out, up, down, {c.heads, C / c.heads}});
    }
    embedding.decays = false;
  }
  Parameter& make(int rows, int columns, double deviation = 0, double mean = 0) {
    Parameter& p = parameters.emplace_back(Parameter{{rows, columns}, deviation > 0});
    for (double& x : p.w.numbers) x = mean + deviation * std::normal_distribution<double>()(random);
    return p;
  }
  LayerNorm norm() { return {make(1, c.width, 0, 1), make(1, c.width)}; }
  Linear linear(int in, int out, double by = 1) { return {make(out, in, by / std::sqrt(in)), make(1, out)}; }
  // Logits (T, V). A row of the embedding enters the residual stream times √C.
  Matrix forward(const unsigned char* tokens) {
    Matrix h{c.window, c.width};
    for (int t = 0; t < h.rows; ++t) add(c.width, std::sqrt(c.width), embedding.w[tokens[t]], h[t]);
    for (Block& block : blocks) h = block.forward(h);
    return head.forward(last_norm.forward(h));
  }
  void backward(const unsigned char* tokens, const Matrix& dlogits) {
    Matrix dh = last_norm.backward(head.backward(dlogits));
    for (std::size_t l = blocks.size(); l-- > 0;) dh = blocks[l].backward(dh);
    for (int t = 0; t < dh.rows; ++t) add(c.width, std::sqrt(c.width), dh[t], embedding.dw[tokens[t]]);
  }
};

// --- Loss: weight·Σ −ln softmax(logits)[target], in nats. Its gradient takes the place of the logits
double cross_entropy(const unsigned char* targets, double weight, Matrix& logits) {
  double loss = 0;
  for (int t = 0; t < logits.rows; ++t) {
    double *z = logits[t], sum = 0;
    const double most = *std::max_element(z, z + logits.columns), right = z[targets[t]];
    for (int v = 0; v < logits.columns; ++v) sum += z[v] = std::exp(z[v] - most);
    for (int v = 0; v < logits.columns; ++v) z[v] *= weight / sum;
    z[targets[t]] -= weight;
    loss += weight * (std::log(sum) + most - right);
  }
  return loss;
}

// --- A training step, with AdamW: Loshchilov, Hutter 2017, arXiv 1711.05101
double rate(const Config& c, int step) {  // of steps from 1 on: up in a line, then down along half a cosine
  const double ramp = std::max(1.0, std::round(c.warmup * c.steps));
  const double done = (step - ramp) / std::max(1.0, c.steps - ramp);
  if (step <= ramp) return c.rate * step / ramp;
  return c.rate * (c.final_rate + (1 - c.final_rate) * (1 + std::cos(std::numbers::pi * done)) / 2);
}
void adamw(std::list<Parameter>& parameters, const Config& c, int step) {
  double squares = 0;
  for (const Parameter& p : parameters) squares += dot(p.w.rows * p.w.columns, p.dw[0], p.dw[0]);
  const double cut = std::min(1.0, c.clip / std::sqrt(squares));  // the whole gradient is no longer than clip
  const double c1 = 1 - std::pow(c.beta1, step), c2 = 1 - std::pow(c.beta2, step);  // m and v started at 0
  for (Parameter& p : parameters) {
    for (std::size_t n = 0; n < p.w.numbers.size(); ++n) {
      double &w = p.w.numbers[n], &m = p.m.numbers[n], &v = p.v.numbers[n], g = cut * p.dw.numbers[n];
      m = c.beta1 * m + (1 - c.beta1) * g;
      v = c.beta2 * v + (1 - c.beta2) * g * g;
      w -= rate(c, step) * (m / c1 / (std::sqrt(v / c2) + 1e-8) + (p.decays ? c.decay * w : 0));
    }
    p.dw = {p.w.rows, p.w.columns};  // zeros for the next step
  }
}
using Batch = std::vector<const unsigned char*>;  // where windows begin; T + 1 tokens of each are read
double train_step(GPT& gpt, const Batch& batch, int step) {  // returns the loss before it
  double loss = 0;
  for (const unsigned char* tokens : batch) {
    Matrix logits = gpt.forward(tokens);
    loss += cross_entropy(tokens + 1, 1.0 / (logits.rows * double(batch.size())), logits);
    gpt.backward(tokens, logits);
  }
  adamw(gpt.parameters, gpt.c, step);
  return loss;
}
}  // namespace plain
#ifndef GNOMON_EXAMPLE_TEST
int main(int argc, char** argv) {
  std::string text = "In the beginning God created the heaven and the earth. And the earth was without form";
  if (argc > 1) text.assign(std::istreambuf_iterator<char>(std::ifstream(argv[1]).rdbuf()), {});
  plain::Config c;
  if (argc > 2) c.steps = std::stoi(argv[2]);
  const int places = int(text.size()) - c.window;
  if (places < 1) return std::fprintf(stderr, "no text of more than %d bytes\n", c.window), 1;
  plain::GPT gpt(c);
  for (int step = 1; step <= c.steps; ++step) {
    plain::Batch batch(std::size_t(c.batch));
    for (auto& window : batch) window = (const unsigned char*)&text[gpt.random() % std::size_t(places)];
    std::printf("step %d: loss %.3f nats per byte\n", step, plain::train_step(gpt, batch, step));
  }
}
#endif
