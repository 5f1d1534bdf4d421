/** Functions, methods, modules, decorators, options, and what surrounds a call. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  CaptureError,
  memory,
  nn,
  noGrad,
  type StaticFunction,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { withSources } from '../source-process.ts';
import { expectSameAsEager, values, weights } from './same-as-eager.ts';

class Net extends nn.Module {
  readonly layers: nn.Linear[];
  constructor() {
    super();
    this.layers = [new nn.Linear(3, 4), new nn.Linear(4, 2)];
    noGrad(() => {
      this.parameters().forEach((p, i) => {
        p.copy_(values([...p.shape], i));
      });
    });
  }
  override forward(x: Tensor): Tensor {
    for (const layer of this.layers) x = layer.forward(x).relu();
    return x;
  }
}

describe('what is captured', () => {
  it('a module: its forward, called as before', () => {
    const [eager, net] = [new Net(), new Net()];
    const captured = toStatic(net);
    expect(captured).toBe(net);
    expect(net.parameters()).toHaveLength(4);
    for (const model of [eager, captured]) {
      model
        .forward(values([2, 3], 50))
        .sum()
        .backward();
    }
    const gradients = (model: Net) => model.parameters().map((p) => [...p.grad!.dataSync()]);
    expect(gradients(net)).toEqual(gradients(eager));
    const { graphs, breaks } = captured.stats();
    expect([graphs, breaks]).toEqual([1, []]);
    expect(captured.explain()).toMatch(/^forward: 1 call, 1 trace, 1 subgraph/);
    expect(captured.programs()).toHaveLength(1);
    expect(Object.keys(captured)).toEqual(Object.keys(eager));
    // Captured again: the reports are those of the new forward.
    expect(toStatic(net).stats().calls).toBe(0);
  });

  it('a module that has an explain() of its own, which stays', () => {
    class Explained extends Net {
      explain(): string {
        return 'mine';
      }
    }
    const captured = toStatic(new Explained());
    captured.forward(values([2, 3], 50)).dispose();
    expect(captured.explain()).toBe('mine');
    expect(captured.stats().graphs).toBe(1);
  });

  it('a module inside another captured function is part of its graph', () => {
    const { graphs, breaks } = expectSameAsEager(() => {
      const net = toStatic(new Net());
      return {
        fn: (x: Tensor) => net.forward(x.mul(2)).sum(),
        args: () => [values([2, 3])],
        state: () => net.parameters(),
      };
    });
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('a captured function inside another one is part of its graph', () => {
    const { graphs, breaks } = expectSameAsEager(() => {
      const inner = toStatic((x: Tensor) => x.exp());
      return { fn: (x: Tensor) => inner(x).add(inner(x.mul(2))), args: () => [weights([2])] };
    });
    expect([graphs, breaks]).toEqual([1, 0]);
  });

  it('a captured function that calls itself', () => {
    expectSameAsEager(() => {
      const power: (x: Tensor, n: number) => Tensor = toStatic((x: Tensor, n: number) =>
        n === 0 ? x : power(x.mul(x), n - 1),
      );
      return { fn: (x: Tensor, n: number) => power(x, n), args: (n) => [weights([2]), n] };
    });
  });

  it('a method, by the decorator of the language', () => {
    const program = join(import.meta.dirname, 'programs/decorated-method.ts');
    const printed = execFileSync(process.execPath, [...withSources, program], {
      encoding: 'utf8',
    });
    const { name, pairs, stats } = JSON.parse(printed);
    expect(name).toBe('scale');
    for (const [captured, eager] of pairs) expect(captured).toEqual(eager);
    expect(stats).toMatchObject({ calls: 3, translations: 2, graphs: 2, fallbacks: [] });
  });

  it('a method, by the older decorators: target, key, descriptor', () => {
    class Scaler {
      by = 3;
      scale(x: Tensor) {
        return x.mul(this.by);
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Scaler.prototype, 'scale')!;
    const replaced = toStatic(Scaler.prototype, 'scale', descriptor);
    Object.defineProperty(Scaler.prototype, 'scale', replaced);
    const x = values([2]);
    expect([...new Scaler().scale(x).dataSync()]).toEqual([...x.mul(3).dataSync()]);
    expect((Scaler.prototype.scale as unknown as StaticFunction<() => void>).stats().graphs).toBe(
      1,
    );
    expect(replaced).toMatchObject({ writable: true, enumerable: false, configurable: true });
  });

  it('a method that uses super, an arrow in a field, a static method', () => {
    class Base {
      by = 2;
      run(x: Tensor) {
        return x.mul(this.by);
      }
    }
    class Derived extends Base {
      arrow = (x: Tensor) => x.add(this.by);
      override run(x: Tensor) {
        return super.run(x).add(this.arrow(x));
      }
      static make(x: Tensor) {
        return new Derived().run(x);
      }
    }
    for (const pick of [
      (o: Derived) => ({ fn: Derived.prototype.run, thisValue: o }),
      (o: Derived) => ({ fn: o.arrow, thisValue: undefined }),
      () => ({ fn: Derived.make, thisValue: Derived }),
    ]) {
      expectSameAsEager(() => {
        const object = new Derived();
        return {
          ...pick(object),
          args: (call: number) => {
            object.by = call + 1;
            return [weights([2])];
          },
        };
      });
    }
  });

  it('a bound function', () => {
    expectSameAsEager(() => {
      function run(this: { by: number }, n: number, x: Tensor) {
        return x.mul(this.by).add(n);
      }
      return { fn: run.bind({ by: 3 }, 4), args: () => [weights([2])] };
    });
  });

  it('nothing: a value that is no function', () => {
    expect(() => toStatic(undefined as never)).toThrow(/nothing to capture/);
    expect(() => toStatic(5 as never)).toThrow(/nothing to capture/);
  });
});

describe('options', () => {
  it('scope: the values of names that cannot be found otherwise', () => {
    const text = '(x) => helper(x).mul(by)';
    const helper = (x: Tensor) => x.exp();
    const make = () => {
      const scope = { helper, by: 2 };
      const eager = new Function('helper', 'by', `return ${text}`)(helper, 2);
      return { scope, eager };
    };
    const { scope, eager } = make();
    const captured = toStatic(eager as (x: Tensor) => Tensor, { scope });
    const x = values([2]);
    expect([...captured(x).dataSync()]).toEqual([...eager(x).dataSync()]);
    expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [], fallbacks: [] });
  });

  it('a function that cannot be captured runs as it is, with a record that says why and where', () => {
    // biome-ignore lint/security/noGlobalEval: it is what is refused
    const evaluates = (x: Tensor): Tensor => x.mul(eval('2') as number);
    const captured = toStatic(evaluates);
    expect([...captured(values([2])).dataSync()]).toEqual([...evaluates(values([2])).dataSync()]);
    const [record] = captured.stats().fallbacks;
    expect(record!.why).toMatch(/evaluates is not captured: .*eval.*capture-modes\.test\.ts:\d+/);
    expect(captured.explain()).toContain('runs as ordinary JavaScript');
    expect(captured.stats().graphs).toBe(0);
  });

  it('a class is refused at once', () => {
    class Box {
      constructor(readonly x: Tensor) {}
    }
    const capture = toStatic as (target: unknown) => unknown;
    expect(() => capture(Box)).toThrow(/a class is not captured.*\n.*class Box/);
    expect(() => capture(class extends Box {})).toThrow(ArgumentError);
  });

  it("fallback: 'error' refuses what would run as ordinary JavaScript", () => {
    const captured = toStatic(
      // biome-ignore lint/security/noGlobalEval: it is what is refused
      (x: Tensor): Tensor => x.mul(eval('2') as number),
      { fallback: 'error' },
    );
    expect(() => captured(values([2]))).toThrow(CaptureError);
    const changing = toStatic((x: Tensor, n: number) => x.mul(n), {
      fallback: 'error',
      dynamic: false,
    });
    expect(() => {
      for (let i = 0; i < 30; i++) changing(values([2]), i + 0.5);
    }).toThrow(CaptureError);
  });
});

describe('around a call', () => {
  it('noGrad: another entry, nothing recorded', () => {
    const { translations } = expectSameAsEager(
      () => ({ fn: (x: Tensor) => x.mul(2).exp(), args: () => [weights([2])] }),
      { calls: 6, around: (body, call) => (call % 2 ? noGrad(body) : body()) },
    );
    expect(translations).toEqual([1, 2, 2, 2, 2, 2]);
  });

  it('a change of what requires a gradient: another entry', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, y: Tensor) => x.mul(y).sum(),
        args: (call) => [
          values([2]).requiresGrad_(call % 2 === 1),
          values([2], 1).requiresGrad_(call > 1),
        ],
      }),
      { calls: 8 },
    );
    expect(translations).toEqual([1, 2, 3, 4, 4, 4, 4, 4]);
  });

  it('tidy: the result stays, everything else goes, also with breaks', () => {
    const log: unknown[] = [];
    const push = log.push.bind(log);
    const captured = toStatic((x: Tensor) => {
      const y = x.mul(2);
      push(1);
      const z = y.add(1);
      push(2);
      return { z: z.exp(), s: z.sum().itemSync() };
    });
    const x = values([64]);
    const bytes = () => memory.stats('cpu').allocated;
    const before = bytes();
    for (let i = 0; i < 3; i++) {
      const { z } = tidy(() => captured(x));
      expect(bytes() - before).toBe(64 * 4);
      z.dispose();
      expect(bytes()).toBe(before);
      // Without tidy too: what crosses a break is given back at its last use.
      captured(x).z.dispose();
      expect(bytes()).toBe(before);
    }
  });

  it('strided arguments: one entry per layout', () => {
    const { translations } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, w: Tensor) =>
          x
            .matmul(w)
            .add(x.sum(1, { keepDim: true }))
            .softmax(),
        args: (call) => {
          const w = weights([3, 3], 1);
          return [call % 2 ? values([3, 3]).transpose(0, 1) : values([3, 3]), w];
        },
      }),
      { calls: 6 },
    );
    expect(translations).toEqual([1, 2, 2, 2, 2, 2]);
  });

  it('strided leaves and expanded views get their gradients', () => {
    expectSameAsEager(() => {
      const leaf = weights([2, 3]);
      return {
        fn: (x: Tensor, row: Tensor) => x.mul(row).add(x.exp()).mul(row.tanh()).sum(0),
        args: () => [leaf.transpose(0, 1), weights([1, 2], 3).expand([3, 2])],
        state: () => leaf,
      };
    });
  });
});
