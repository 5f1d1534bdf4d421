// node tfjs.mjs WORK ROUNDS: prints { least, median } in ms; nothing for works that the wasm backend can't do.
import { createRequire } from 'node:module';
import { dirname, sep } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';

const [work, rounds, threads] = process.argv.slice(2);
const entry = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
setWasmPaths(dirname(entry) + sep);
setThreadsCount(Number(threads));
await tf.setBackend('wasm');

const square = (size) => {
  const [x, y] = [tf.randomNormal([size, size]), tf.randomNormal([size, size])];
  return () => tf.matMul(x, y);
};
const works = {
  W1: () => square(512),
  W1b: () => square(1024),
  W3: () => {
    const sizes = [784, 512, 512, 10];
    const weights = sizes
      .slice(1)
      .flatMap((to, i) => [
        tf.variable(tf.randomNormal([sizes[i], to], 0, 0.05)),
        tf.variable(tf.zeros([to])),
      ]);
    const x = tf.randomNormal([128, 784]);
    const y = tf.oneHot(
      tf.tensor1d(
        Array.from({ length: 128 }, (_, i) => i % 10),
        'int32',
      ),
      10,
    );
    const optimizer = tf.train.sgd(0.1);
    const loss = () => {
      let h = x;
      for (let i = 0; i < 3; i++) {
        h = tf.add(tf.matMul(h, weights[2 * i]), weights[2 * i + 1]);
        if (i < 2) h = tf.relu(h);
      }
      return tf.losses.softmaxCrossEntropy(y, h);
    };
    return () => optimizer.minimize(loss, true, weights);
  },
  W6: () => {
    const x = tf.randomNormal([4 << 20]);
    return () => {
      const c = tf.tanh(x.mul(0.5).add(0.25));
      const f = tf.exp(c.mul(c).neg().add(1));
      return tf.exp(tf.relu(f.sub(x)).add(c).mul(0.3)).div(f);
    };
  },
};
const step = works[work]?.();
if (!step) process.exit(0);
const times = [];
for (let round = -3; round < Number(rounds); round++) {
  const start = performance.now();
  const result = tf.tidy(step);
  result.dataSync();
  if (round >= 0) times.push(performance.now() - start);
  result.dispose();
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({ least: times[0], median: times[times.length >> 1] }));
process.exit(0);
