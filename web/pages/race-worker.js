// One model of the race, in a thread of its own: it trains for a moment, tells what it found, and listens again. scripts/web puts
// gnomon.js before this text.
const MOMENT = 100;  // milliseconds
const LENGTHS = [1, 2, 4];  // of windows after training, in those of training
const SAMPLES = 5;  // in a training

let gnomon, about, plan, prompt, running = false, step = 0, seconds = 0;

const tell = (is, what = {}) => postMessage({is, ...what});

// plan: {module, spec, name, text, settings, points}
async function begin(given) {
  plan = given;
  gnomon = await load(plan.module);
  gnomon.files.set(plan.name, plan.text);
  about = gnomon.train(plan.spec, plan.name, plan.settings);
  prompt = [...plan.text.slice(0, 64)].slice(0, 16).join('');
  tell('ready', {about});
}

// A study has a point of its curve at the same steps.
const interval = () => Math.max(1, Math.floor(plan.settings.steps / plan.points));
const isEnd = () => step === plan.settings.steps;
const isPoint = () => isEnd() || step % interval() === 0;

// So many steps, or as many as there are until the moment has passed or a point is due.
function train(most) {
  const {batch, length} = plan.settings, start = performance.now(), losses = [], from = step;
  let found;
  do {
    found = gnomon.step();
    step = found.step;
    losses.push(found.loss);
  } while (!found.not_finite && losses.length < most && !isPoint() && performance.now() < start + MOMENT);
  seconds += (performance.now() - start) / 1000;
  if (found.not_finite) throw new Error(`${found.not_finite} was not finite at step ${step}: a lower rate may help`);
  tell('steps', {from, losses, rate: found.rate, speed: step * batch * length / seconds});
  if (isPoint()) look();
}

function look() {
  tell('point', {step, nats: gnomon.heldOut()});
  if (isEnd() || step % (interval() * Math.ceil(plan.points / SAMPLES)) === 0) write();
  if (!isEnd()) return;
  for (const factor of LENGTHS) tell('length', gnomon.evaluate(factor));
  tell('end');
}

// What the model writes, to twice the length of its windows where it can. The same random numbers make the beginning alone.
function write() {
  const bytes = new TextEncoder().encode(prompt).length, within = plan.settings.length - bytes;
  const end = Math.min(2 * plan.settings.length, about.windows_end ?? Infinity);
  if (within < 1) return;
  try {
    const text = gnomon.sample(prompt, {bytes: end - bytes}), trained = gnomon.sample(prompt, {bytes: within}).length;
    tell('text', {step, prompt, within: text.slice(0, trained), beyond: text.slice(trained)});
  } catch (error) {
    tell('text', {step, prompt, refused: error.message});
  }
}

let runs = 0;
async function run() {
  const mine = ++runs;  // after a pause and another start there is one run
  running = true;
  while (running && mine === runs && !isEnd()) {
    train(Infinity);
    await new Promise(done => setTimeout(done));  // what the page said meanwhile is heard
  }
}

const told = {begin, run, pause: () => { running = false; tell('paused'); }, step: () => { if (!isEnd()) train(1); }};
onmessage = async ({data}) => {
  try {
    await told[data.does](data);
  } catch (error) {
    running = false;
    tell('fault', {message: error.message ?? String(error)});
  }
};
