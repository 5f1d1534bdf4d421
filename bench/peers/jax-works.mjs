// Works that jax-js supports on its current device.
import { jit, numpy as np, random } from '@jax-js/jax';

const normal = (shape, seed) => random.normal(random.key(seed), shape);

const square = (size) => {
  const [x, y] = [normal([size, size], 1), normal([size, size], 2)];
  const f = jit((a, b) => np.matmul(a, b));
  return () => f(x.ref, y.ref);
};

export const works = {
  W1: () => square(512),
  W1b: () => square(1024),
  W6: () => {
    const x = normal([4 << 20], 1);
    const f = jit((x) => {
      const c = np.tanh(x.ref.mul(0.5).add(0.25));
      const f = np.exp(c.ref.mul(c.ref).neg().add(1));
      return np.exp(np.maximum(f.ref.sub(x), 0).add(c).mul(0.3)).div(f);
    });
    return () => f(x.ref);
  },
};
