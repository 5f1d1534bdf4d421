import { expect, it } from 'vitest';
import {
  cat,
  memory,
  noGrad,
  stack,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

/** Gradients after a backward from one of several outputs; null where none arrived. */
function gradients(
  fn: (...xs: Tensor[]) => readonly Tensor[],
  data: readonly number[][],
  from: number,
  retainGraph = false,
) {
  const inputs = data.map((each) => tensor(each).requiresGrad_());
  const outputs = fn(...inputs);
  for (let i = 0; i <= Number(retainGraph); i++) {
    outputs[from]!.sum().backward(null, { retainGraph: retainGraph && i === 0 });
  }
  const found = inputs.map(({ grad }) => grad && [...grad.dataSync()]);
  for (const { grad } of inputs) grad?.dispose();
  return found;
}

const functions: Record<string, (...xs: Tensor[]) => readonly Tensor[]> = {
  'of an input that only another output depends on': (x, y) => [x!.mul(2).sum(), y!.exp().sum()],
  'where the other output would bring 0 · ∞': (x, y) => [x!.mul(y!).sum(), x!.log().sum()],
  'where the sum is negative zero': (x, y) => [x!.mul(y!).neg().sum(), x!.mul(3).sum()],
  'of three contributions': (x, y) => {
    const shared = x!.mul(y!);
    return [shared.sum(), shared.tanh().add(x!).sum(), y!.relu().mul(shared).sum()];
  },
  'that is a part of another': (x, y) => {
    const joined = cat([x!, y!.sub(y!.mean())], 0).narrow(0, 2, 3);
    return [joined, stack([y!, joined]).sum()];
  },
  'where a contribution shows part of memory that others read': (x, y) => {
    const [a, b] = [x!.reshape([1, 3]), y!.reshape([1, 3])];
    const both = a.add(b);
    const joined = () => stack([b, both]).sum(0);
    return [joined().matmul(both.transpose(0, 1)).matmul(joined()), both];
  },
  'of a branch whose gradient is also the sum that it adds to': (x, y) => {
    const chosen = x!.sum().itemSync() > 0 ? x!.mul(y!).add(x!) : y!.sub(x!);
    return [x!.add(x!), chosen.add(x!), chosen.add(y!)];
  },
  'of a loop whose gradient is also the sum that it adds to': (x, y) => {
    let chosen = x!;
    const count = x!.abs().sum().itemSync();
    for (let i = 0; i < count; i++) chosen = chosen.mul(y!).add(x!);
    return [x!.add(x!), chosen.add(x!), chosen.add(y!)];
  },
  'through a view': (x, y) => [x!.reshape([1, 3]).mul(y!).sum(), x!.unsqueeze(0).add(y!).sum()],
};

for (const [name, fn] of Object.entries(functions)) {
  it(`a gradient ${name} is the eager one, from each output alone`, () => {
    const data = [
      [0, -1, 2],
      [0, 3, -0.5],
    ];
    const before = memory.stats('cpu').allocated;
    tidy(() => {
      const captured = toStatic(fn, { fullGraph: true });
      const outputs = fn(...data.map((each) => tensor(each))).length;
      for (let from = 0; from < outputs; from++) {
        for (const retain of [false, true]) {
          const expected = gradients(fn, data, from, retain);
          expect(gradients(captured, data, from, retain), `output ${from}`).toEqual(expected);
        }
      }
      expect(captured.stats().graphs).toBe(1);
    });
    expect(memory.stats('cpu').allocated).toBe(before);
  });
}

it('what an output alone leads to counts, not what others of the program lead to', () => {
  const fn = (x: Tensor, used: Tensor) => [x.mul(2).sum(), used.mul(3).sum()] as const;
  const before = memory.stats('cpu').allocated;
  tidy(() => {
    for (const run of [fn, toStatic(fn)]) {
      const x = tensor([1, 2]).requiresGrad_();
      const leaf = tensor([3, 4]).requiresGrad_();
      const used = leaf.exp();
      used.sum().backward();
      const [own, other] = run(x, used);
      own.mul(2).backward();
      expect([...x.grad!.dataSync()]).toEqual([4, 4]);
      expect(() => other.backward()).toThrow('a second time');
      x.grad!.dispose();
      leaf.grad!.dispose();
    }
  });
  expect(memory.stats('cpu').allocated).toBe(before);
});

it('nor what others lead to by another name: earlier sums alone reach nothing', () => {
  const choosing = (x: Tensor, t: Tensor) => (x.sum().itemSync() > 9 ? x : t);
  const looping = (x: Tensor, t: Tensor) => {
    let each = x;
    for (let i = 0; i < x.sum().itemSync(); i++) each = each.mul(t);
    return each;
  };
  for (const part of [choosing, looping]) {
    const fn = (x: Tensor, t: Tensor, u: Tensor) => [part(x, t).mul(t).sin(), u.tanh()] as const;
    const before = memory.stats('cpu').allocated;
    const run = (run: typeof fn, from: readonly number[]) =>
      tidy(() => {
        const [w, v] = [tensor([1, 2]).requiresGrad_(), tensor([0.5, 3]).requiresGrad_()];
        const results = run(tensor([1, 2]), w.mul(w), v.mul(v));
        for (const i of from) results[i]!.sum().backward();
        const found = [w, v].map(({ grad }) => grad && [...grad.dataSync()]);
        for (const { grad } of [w, v]) grad?.dispose();
        return found;
      });
    const captured = toStatic(fn, { fullGraph: true });
    for (const from of [[0], [1], [0, 1], [1, 0]])
      expect(run(captured, from)).toEqual(run(fn, from));
    expect(memory.stats('cpu').allocated).toBe(before);
  }
});

it('a result whose gradient leads to no input is differentiated after another', () => {
  const fn = (x: Tensor, w: Tensor) => {
    const own = x.detach().requiresGrad_();
    return [w.tanh(), own.mul(x).tanh()] as const;
  };
  for (const run of [fn, toStatic(fn)]) {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const [x, w] = [tensor([1, 2]), tensor([3, 4]).requiresGrad_()];
      const results = run(x, w);
      for (const i of order) results[i].sum().backward();
      expect(w.grad).not.toBeNull();
      expect(() => results[1].sum().backward()).toThrow('a second time');
    }
  }
});

it('a value that only another output needs may be written before', () => {
  const fn = (x: Tensor, y: Tensor) => [x.mul(2).sum(), y.tanh()] as const;
  for (const run of [fn, toStatic(fn)]) {
    tidy(() => {
      const x = tensor([1, 2]).requiresGrad_();
      const y = tensor([3, 4]).requiresGrad_();
      const [own, other] = run(x, y);
      noGrad(() => other.add_(1));
      own.backward();
      expect([...x.grad!.dataSync()]).toEqual([2, 2]);
      expect(() => other.sum().backward()).toThrow('in place');
      x.grad!.dispose();
    });
  }
});
