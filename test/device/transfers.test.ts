/** Tensors of two devices in one computation: transfers are ops with gradients, eagerly and in programs. */

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Device,
  DeviceError,
  deviceGuard,
  embedding,
  grad,
  init,
  memory,
  nn,
  noGrad,
  ones,
  optim,
  randn,
  save,
  seed,
  setDevice,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { bits } from '../save/exercise.ts';

let other: Device;
beforeAll(async () => {
  other = await init('cpu:1');
});
beforeEach(() => setDevice('cpu'));

const deviceOf = (x: Tensor) => x.device.name;

describe('a transfer between devices', () => {
  it('has a gradient on the device of its operand', () => {
    tidy(() => {
      const x = tensor([1, 2, 3]).requiresGrad_();
      const y = x.mul(2).to('cpu:1');
      expect([deviceOf(y), y.requiresGrad, y.isLeaf]).toEqual(['cpu:1', true, false]);
      const z = y.mul(y).to('cpu').sum();
      z.backward();
      expect([deviceOf(x.grad!), ...x.grad!.dataSync()]).toEqual(['cpu', 8, 16, 24]);
      x.grad = null;
    });
  });

  it('of strided tensors, views and every dtype has the bits of the operand', () => {
    tidy(() => {
      for (const dtype of ['float32', 'float64', 'float16', 'int32', 'bool', 'uint8'] as const) {
        const x = tensor([0, 1, 1, 0, 1, 1], { dtype, shape: [2, 3] });
        for (const view of [x, x.transpose(0, 1), x.narrow(1, 1, 2)]) {
          const there = view.to(other);
          expect(deviceOf(there)).toBe('cpu:1');
          expect(bits(there.to('cpu'))).toEqual(bits(view));
        }
      }
    });
  });

  it('can be differentiated again', () => {
    tidy(() => {
      const x = tensor([1, 2, 3]).requiresGrad_();
      const [first] = grad(x.to('cpu:1').pow(3).sum(), [x], { createGraph: true });
      const [second] = grad(first!.to('cpu:1').sum(), [x]);
      expect([...second!.dataSync()]).toEqual([6, 12, 18]);
    });
  });

  it('is no transfer on one device, and records nothing inside noGrad', () => {
    tidy(() => {
      const x = ones([2]).requiresGrad_();
      expect(x.to('cpu')).toBe(x);
      expect(noGrad(() => x.to('cpu:1')).requiresGrad).toBe(false);
    });
  });

  it('to meta keeps the graph; from there no data comes back', async () => {
    const x = ones([2, 3]).requiresGrad_();
    const loss = x.to('meta').sum();
    expect([deviceOf(loss), loss.requiresGrad]).toEqual(['meta', true]);
    expect(() => loss.backward()).toThrow(DeviceError);
    await expect(loss.toAsync('cpu')).rejects.toThrow(/no data to read/);
  });

  it('is an op in captured code, with the bits and bytes of eager execution', () => {
    const step = (x: Tensor, w: Tensor) => {
      const hidden = x.matmul(w).relu().to('cpu:1');
      const scaled = hidden.mul(3).add(hidden.exp());
      return scaled.to('cpu').sum();
    };
    const captured = toStatic(step, { fullGraph: true });
    const run = (fn: typeof step) => {
      seed(1);
      return tidy(() => {
        const [x, w] = [randn([4, 3]), randn([3, 5]).requiresGrad_()];
        const loss = fn(x, w);
        loss.backward();
        const found = [bits(loss), bits(w.grad!), deviceOf(w.grad!)];
        w.grad = null;
        return found;
      });
    };
    expect(run(captured)).toEqual(run(step));
    expect(captured.stats().graphs).toBe(1);
    expect(captured.stats().breaks).toEqual([]);
  });

  it('leaves nothing on either device', () => {
    const before = ['cpu', 'cpu:1'].map((name) => memory.stats(name).allocated);
    const f = toStatic((x: Tensor) => x.to('cpu:1').exp().to('cpu').mul(2).sum(), {
      fullGraph: true,
    });
    const x = ones([4, 4]).requiresGrad_();
    for (let i = 0; i < 3; i++) {
      tidy(() => (f(x) as Tensor).backward());
      x.grad!.dispose();
      x.grad = null;
    }
    x.dispose();
    expect(['cpu', 'cpu:1'].map((name) => memory.stats(name).allocated)).toEqual(before);
  });
});

describe('deviceGuard and operands of two devices', () => {
  it.each([
    ['cpu', 'cpu'],
    ['cpu:1', 'cpu:1'],
  ])('under %s they meet there', (guard, place) => {
    tidy(() => {
      const a = tensor([1, 2]).requiresGrad_();
      const b = tensor([3, 4]).to('cpu:1').requiresGrad_();
      const y = deviceGuard(guard, () => a.mul(b));
      expect([deviceOf(y), ...y.dataSync()]).toEqual([place, 3, 8]);
      y.sum().backward();
      expect([deviceOf(a.grad!), ...a.grad!.dataSync()]).toEqual(['cpu', 3, 4]);
      expect([deviceOf(b.grad!), ...b.grad!.dataSync()]).toEqual(['cpu:1', 1, 2]);
      a.grad = null;
      b.grad = null;
    });
  });

  it.each(['cpu', 'cpu:1', 'meta'])('under %s what meets meta goes to meta', (guard) => {
    tidy(() => {
      const [a, b] = [ones([2, 3]), deviceGuard('meta', () => ones([3]))];
      const y = deviceGuard(guard, () => a.mul(b));
      expect([deviceOf(y), y.shape]).toEqual(['meta', [2, 3]]);
    });
  });

  it('outside of a guard they are refused, and the error names the transfer', () => {
    tidy(() => {
      const [a, b] = [ones([2]), ones([2]).to('cpu:1')];
      expect(() => a.add(b)).toThrow(/different devices[\s\S]*x\.to\('cpu'\)/);
      expect(() => deviceGuard('cpu', () => b.add_(a))).toThrow(/can't write to a tensor on cpu:1/);
      expect(() => deviceGuard('meta', () => a.add(b))).toThrow(/different devices/);
    });
  });

  it('inside captured code is part of the program, not a break', () => {
    const [a, b] = [tensor([1, 2]), tensor([3, 4]).to('cpu:1')];
    const body = (x: Tensor) => {
      const y = deviceGuard('cpu:1', () => {
        const c = ones([2]);
        return x.mul(b).add(c);
      });
      const z = deviceGuard('cpu', () => y.mul(a));
      return deviceGuard(null, () => z.sum());
    };
    const f = toStatic(body, { fullGraph: true });
    tidy(() => {
      for (let i = 0; i < 2; i++) {
        const x = randn([2]).requiresGrad_();
        const again = x.detach().requiresGrad_();
        const [y, eager] = [f(x), body(again)];
        expect([bits(y), deviceOf(y)]).toEqual([bits(eager), deviceOf(eager)]);
        y.backward();
        eager.backward();
        expect(bits(x.grad)).toEqual(bits(again.grad));
        x.grad = null;
        again.grad = null;
      }
    });
    const { graphs, breaks } = f.stats();
    expect([graphs, breaks.length]).toEqual([1, 0]);
  });

  it('goes on under the guard after a break inside it', () => {
    const seen: string[] = [];
    const f = toStatic((x: Tensor) =>
      deviceGuard('cpu:1', () => {
        const y = x.mul(2);
        seen.push(`${y.device.name} ${ones([1]).device.name}`);
        return y.add(ones([2]));
      }),
    );
    tidy(() => {
      for (let i = 0; i < 2; i++) {
        const y = f(tensor([1, 2]));
        expect([deviceOf(y), ...y.dataSync()]).toEqual(['cpu:1', 3, 5]);
      }
    });
    expect(seen).toEqual(['cpu:1 cpu:1', 'cpu:1 cpu:1']);
  });

  it('a program that a guard around the call has changed is not taken for calls without it', () => {
    const b = deviceGuard('meta', () => ones([3]));
    const f = toStatic((x: Tensor) => x.mul(b));
    tidy(() => {
      expect(deviceOf(deviceGuard('cpu', () => f(ones([2, 3]))))).toBe('meta');
      expect(() => f(ones([2, 3]))).toThrow(DeviceError);
    });
  });
});

describe('an embedding on a device of its own', () => {
  const make = () => {
    seed(3);
    const table = new nn.Embedding(50, 4);
    const rest = deviceGuard('cpu:1', () => new nn.Linear(4, 1));
    const parameters = [...table.parameters(), ...rest.parameters()];
    const optimizer = new optim.Adam(parameters, { lr: 0.05 });
    const step = (indices: Tensor) => {
      const rows = deviceGuard('cpu', () => table.forward(indices));
      const loss = deviceGuard('cpu:1', () => rest.forward(rows.to('cpu:1')).square().mean());
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss.detach();
    };
    return { step, parameters };
  };
  const train = (step: (indices: Tensor) => Tensor) =>
    [0, 1, 2, 3].map((i) =>
      tidy(() => bits(step(tensor(new Int32Array([i, 7, 3, i + 9]))).to('cpu'))),
    );

  it('trains as on one device, eagerly and as one program', () => {
    const [eager, static_] = [make(), make()];
    const captured = toStatic(static_.step, { fullGraph: true });
    expect(train(captured)).toEqual(train(eager.step));
    expect(bits(static_.parameters)).toEqual(bits(eager.parameters));
    expect(captured.stats().breaks).toEqual([]);
    expect(eager.parameters.map(deviceOf)).toEqual(['cpu', 'cpu:1', 'cpu:1']);
  });

  it('is counted on its own device, in a step that is one program, too', () => {
    const { step, parameters } = make();
    const captured = toStatic(step, { fullGraph: true });
    train(captured);
    const before = memory.stats('cpu:1').allocated;
    const blocks = new Set<string>();
    const { events } = memory.record(() => train(captured));
    for (const event of events) {
      if (event.kind === 'alloc') blocks.add(`${event.device} ${event.bytes}`);
    }
    expect(memory.stats('cpu:1').allocated).toBe(before);
    // Gradients of the table, 50 · 4 · 4 bytes, are on the CPU alone.
    expect([...blocks]).toContain('cpu 832');
    expect([...blocks]).not.toContain('cpu:1 832');
    expect(parameters.map(deviceOf)).toEqual(['cpu', 'cpu:1', 'cpu:1']);
  });

  it('has the rows that were looked up on the other device, not the table', () => {
    const table = ones([10_000, 4]).requiresGrad_();
    const before = memory.stats('cpu:1').allocated;
    memory.reset('cpu:1');
    tidy(() => {
      const rows = embedding(table, tensor(new Int32Array([1, 2]))).to('cpu:1');
      rows.square().sum().backward();
    });
    expect(memory.stats('cpu:1').peakAllocated - before).toBeLessThan(2000);
    table.grad = null;
  });
});

describe('the bytes of a program on two devices', () => {
  it('are predicted, all devices together', () => {
    const f = toStatic(
      (x: Tensor) => noGrad(() => x.exp().to('cpu:1').mul(2).exp().to('cpu').add(1).sum()),
      { fullGraph: true },
    );
    const x = ones([64, 64]);
    f(x).dispose();
    let [live, peak] = [0, 0];
    const { events } = memory.record(() => f(x).dispose());
    for (const event of events) {
      if (event.kind === 'alloc') live += event.bytes;
      else if (event.kind === 'free') live -= event.bytes;
      peak = Math.max(peak, live);
    }
    x.dispose();
    expect([live, peak]).toEqual([0, f.programs()[0]!.record.planned!.forward.predicted.peakBytes]);
  });

  it('programs with transfers are not saved, and the error names the line', async () => {
    const f = toStatic((x: Tensor) => x.to('cpu:1').exp(), { fullGraph: true });
    tidy(() => void f(ones([2])));
    await expect(save(f)).rejects.toThrow(/a transfer to cpu:1 \(.*transfers\.test\.ts:\d+/);
  });
});
