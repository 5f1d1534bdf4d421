// Works of TensorFlow.js on WebGPU.
import '@tensorflow/tfjs-backend-webgpu';
import * as tf from '@tensorflow/tfjs';

await tf.setBackend('webgpu');
await tf.ready();

export const finish = (results) => results.at(-1).data();

const square = (size) => {
  const [x, y] = [tf.randomNormal([size, size]), tf.randomNormal([size, size])];
  return () => tf.matMul(x, y);
};
const labels = (batch) => {
  const numbers = Array.from({ length: batch }, (_, i) => i % 10);
  return tf.oneHot(tf.tensor1d(numbers, 'int32'), 10);
};
const variable = (shape, deviation) => tf.variable(tf.randomNormal(shape, 0, deviation));
const training = (loss, weights) => {
  const optimizer = tf.train.sgd(0.1);
  return () => tf.tidy(() => optimizer.minimize(loss, true, weights));
};

/** Normalizes over the last dimension. */
const layerNorm = (x, gain, bias) => {
  const { mean, variance } = tf.moments(x, -1, true);
  return x.sub(mean).div(variance.add(1e-5).sqrt()).mul(gain).add(bias);
};
const gelu = (x) => {
  const inner = x.add(x.mul(x).mul(x).mul(0.044715)).mul(Math.sqrt(2 / Math.PI));
  return x.mul(0.5).mul(tf.tanh(inner).add(1));
};

/** A pre-norm transformer block, [8, 128, 256] with 4 heads. */
const block = () => {
  const [batch, steps, width, heads] = [8, 128, 256, 4];
  const dense = (from, to) => [variable([from, to], 0.05), variable([to], 0)];
  const norms = [0, 1].map(() => [tf.variable(tf.ones([width])), tf.variable(tf.zeros([width]))]);
  const [project, join] = [dense(width, 3 * width), dense(width, width)];
  const [widen, narrow] = [dense(width, 4 * width), dense(4 * width, width)];
  const linear = (x, [weight, bias]) => tf.matMul(x, weight).add(bias);
  const forward = (x) => {
    const flat = x.reshape([batch * steps, width]);
    const all = linear(layerNorm(flat, ...norms[0]), project);
    const [q, k, v] = tf
      .split(all, 3, 1)
      .map((part) => part.reshape([batch, steps, heads, width / heads]).transpose([0, 2, 1, 3]));
    const scores = tf.softmax(tf.matMul(q, k, false, true).div(Math.sqrt(width / heads)));
    const mixed = tf
      .matMul(scores, v)
      .transpose([0, 2, 1, 3])
      .reshape([batch * steps, width]);
    const y = flat.add(linear(mixed, join));
    const hidden = gelu(linear(layerNorm(y, ...norms[1]), widen));
    return y.add(linear(hidden, narrow)).reshape([batch, steps, width]);
  };
  const weights = [...norms.flat(), ...project, ...join, ...widen, ...narrow];
  return { forward, weights, data: () => tf.randomNormal([batch, steps, width]) };
};

export const works = {
  W1: () => square(512),
  W1b: () => square(1024),
  W1d: () => square(4096),
  W3: () => {
    const sizes = [784, 512, 512, 10];
    const weights = sizes
      .slice(1)
      .flatMap((to, i) => [variable([sizes[i], to], 0.05), variable([to], 0)]);
    const x = tf.randomNormal([128, 784]);
    const y = labels(128);
    return training(() => {
      let h = x;
      for (let i = 0; i < 3; i++) {
        h = tf.add(tf.matMul(h, weights[2 * i]), weights[2 * i + 1]);
        if (i < 2) h = tf.relu(h);
      }
      return tf.losses.softmaxCrossEntropy(y, h);
    }, weights);
  },
  W4f: () => {
    const { forward, data } = block();
    const x = data();
    return () => tf.tidy(() => forward(x));
  },
  W4: () => {
    const { forward, weights, data } = block();
    const [x, y] = [data(), data()];
    return training(() => tf.losses.meanSquaredError(y, forward(x)), weights);
  },
  W5: () => {
    const image = tf.variable(tf.randomNormal([16, 32, 32, 32]));
    const weight = variable([3, 3, 32, 64], 0.1);
    const loss = (x, w) => tf.conv2d(x, w, 1, 'same').square().mean();
    const gradients = tf.valueAndGrads(loss);
    return () => tf.tidy(() => gradients([image, weight]).value);
  },
  W6: () => {
    const x = tf.randomNormal([4 << 20]);
    return () =>
      tf.tidy(() => {
        const c = tf.tanh(x.mul(0.5).add(0.25));
        const f = tf.exp(c.mul(c).neg().add(1));
        return tf.exp(tf.relu(f.sub(x)).add(c).mul(0.3)).div(f);
      });
  },
  W7: () => {
    const weights = [
      [variable([3, 3, 1, 16], 0.2), variable([16], 0)],
      [variable([3, 3, 16, 32], 0.1), variable([32], 0)],
      [variable([32 * 7 * 7, 10], 0.05), variable([10], 0)],
    ];
    const x = tf.randomNormal([64, 28, 28, 1]);
    const y = labels(64);
    return training(() => {
      let h = x;
      for (const [weight, bias] of weights.slice(0, 2)) {
        h = tf.maxPool(tf.relu(tf.conv2d(h, weight, 1, 'same').add(bias)), 2, 2, 'valid');
      }
      const [weight, bias] = weights[2];
      const logits = tf.matMul(h.reshape([64, -1]), weight).add(bias);
      return tf.losses.softmaxCrossEntropy(y, logits);
    }, weights.flat());
  },
};
