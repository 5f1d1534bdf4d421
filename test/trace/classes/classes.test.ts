/** Instances of the user's classes that are made inside: eager execution is the oracle. */

import { describe, expect, it } from 'vitest';
import { breakGraph, type Tensor } from '../../../src/index.ts';
import { expectOneGraph } from '../language/every-mode.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

/** Classes of one world: their static members are state. */
function scales() {
  class Scale {
    static made = 0;
    static readonly unit = 1;
    static twice(x: number): number {
      return 2 * x;
    }

    factor: number;
    notes: string[] = ['new'];
    readonly compute = (x: Tensor) => x.mul(this.factor);

    constructor(factor = Scale.unit) {
      Scale.made++;
      this.factor = Scale.twice(factor);
    }

    get half(): number {
      return this.factor / 2;
    }

    set half(value: number) {
      this.factor = value * 2;
      this.notes.push('set');
    }

    apply(x: Tensor): Tensor {
      return this.compute(x).add(this.half);
    }

    describe(): string {
      return `scale ${this.factor}`;
    }
  }

  class Shifted extends Scale {
    shift = this.factor + 1;

    constructor(
      factor: number,
      readonly extra: { count: number } = { count: 0 },
    ) {
      super(factor);
      extra.count += this.shift;
    }

    override apply(x: Tensor): Tensor {
      return super.apply(x).add(this.shift);
    }

    override get half(): number {
      return super.half + 10;
    }

    override set half(value: number) {
      super.half = value;
    }

    override describe(): string {
      return `${super.describe()} and ${this.shift}`;
    }
  }

  /** Without a constructor of its own. */
  class Default extends Shifted {
    readonly label = 'default';
  }

  return { Scale, Shifted, Default };
}

class Node2 {
  next: Node2 | null = null;
  parent: Node2;
  constructor(
    readonly value: Tensor,
    parent?: Node2,
  ) {
    this.parent = parent ?? this;
    if (parent) parent.next = this;
  }
}

describe('trace/classes', () => {
  it('an instance is made inside the graph: fields, accessors, statics, methods', () => {
    const { stats } = expectSameAsEager(() => {
      const { Scale } = scales();
      return {
        fn: (x: Tensor) => {
          const scale = new Scale(3);
          const before = scale.half;
          scale.half = 5;
          const { describe, ...rest } = scale;
          return [
            scale.apply(x),
            before,
            scale.notes,
            Object.keys(scale),
            rest.factor,
            scale instanceof Scale,
            scale.constructor === Scale,
            describe.call(scale),
          ];
        },
        args: () => [values([2, 3])],
        state: () => Scale.made,
      };
    });
    expect([stats.graphs, stats.breaks]).toEqual([1, []]);
  });

  it('assignments to super change the instance, or call the setter above', () => {
    expectOneGraph(() => {
      class Above {
        level = 1;
        declare added: number;
        log: number[] = [];
        set noted(value: number) {
          this.log.push(value);
        }
      }
      class Below extends Above {
        change(x: Tensor): Tensor {
          (super['level' as never] as number) = this.level + 1;
          super.noted = this.level;
          (super['added' as never] as number) = 3;
          return x.mul(this.level + this.added);
        }
      }
      const below = new Below();
      return {
        fn: (x: Tensor) => below.change(x),
        args: () => [values([2])],
        state: () => below,
      };
    });
  });

  it('hierarchies: super(), super methods and accessors, fields of each class, defaults', () => {
    const { stats } = expectSameAsEager(() => {
      const { Scale, Shifted, Default } = scales();
      return {
        fn: (x: Tensor, count: { count: number }) => {
          const shifted = new Shifted(2, count);
          const plain = new Default(4);
          return [
            shifted.apply(x),
            plain.apply(x),
            shifted.half,
            shifted.describe(),
            Object.entries(plain).map(([key]) => key),
            plain.extra,
            plain instanceof Scale,
          ];
        },
        args: () => [values([2, 3]), { count: 1 }],
        state: () => Scale.made,
      };
    });
    expect([stats.graphs, stats.breaks]).toEqual([1, []]);
  });

  it('an instance that escapes is a real one, another on each run, with its identities', () => {
    const { Scale } = scales();
    type Scaled = InstanceType<typeof Scale>;
    const { captured } = expectSameAsEager(() => {
      const kept: Scaled[] = [];
      return {
        fn: (x: Tensor) => {
          const scale = new Scale(2);
          kept.push(scale);
          const root = new Node2(x.neg());
          const child = new Node2(x.mul(2), root);
          return [scale, scale.compute(x), root.next === child, child, root.parent === root];
        },
        args: () => [values([2])],
        state: () => [kept.length, new Set(kept).size, kept.map((each) => each.describe())],
      };
    });
    const [scale, , , child] = captured(values([2])) as [Scaled, Tensor, boolean, Node2];
    expect(scale).toBeInstanceOf(Scale);
    expect(Object.getPrototypeOf(scale)).toBe(Scale.prototype);
    expect(scale.apply(values([2])).shape).toEqual([2]);
    expect(child.parent.next).toBe(child);
    expect(captured(values([2]))).not.toContain(scale);
  });

  it('a break inside a constructor goes on in it, and in those that wait for it', () => {
    class Base {
      readonly before: Tensor;
      after: Tensor;
      constructor(x: Tensor) {
        this.before = x.mul(2);
        breakGraph();
        this.after = this.before.add(1);
      }
    }
    class Derived extends Base {
      readonly own = this.after.neg();
      last: Tensor;
      constructor(x: Tensor) {
        super(x.relu());
        this.last = this.own.mul(this.before);
        if (new.target !== Derived) throw new Error('unexpected');
      }
    }
    const { stats } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const made = new Derived(x);
        return [made, made.last.sum(), made instanceof Derived];
      },
      args: () => [values([3])],
    }));
    expect(stats.breaks.map(({ reason }) => reason)).toEqual(['forced']);
    expect(stats.graphs).toBe(2);
  });

  it('what a constructor returns, throws or mutates is as in eager execution (61)', () => {
    class Other {
      readonly tag = 'other';
    }
    class Odd {
      readonly tag: string = 'odd';
      constructor(list: unknown[], how: string) {
        list.push(how);
        // biome-ignore lint/correctness/noConstructorReturn: what is tested
        if (how === 'object') return new Other();
        if (how === 'throw') throw new RangeError(how);
      }
    }
    class Twice {
      constructor(readonly x: Tensor) {
        x.requiresGrad_(false);
      }
    }
    expectSameAsEager(() => {
      const list: unknown[] = [];
      return {
        fn: (x: Tensor) => {
          const tags: string[] = [];
          for (const how of ['plain', 'object', 'throw']) {
            try {
              tags.push(new Odd(list, how).tag);
            } catch (error) {
              tags.push((error as Error).message);
            }
          }
          return [x.add(1), tags, new Twice(x.mul(2)).x];
        },
        args: () => [values([2])],
        state: () => list,
      };
    });
  });

  it('gradients flow through instances', () => {
    const { stats } = expectSameAsEager(() => {
      class Linear {
        constructor(
          readonly weight: Tensor,
          readonly bias: Tensor,
        ) {}
        forward(x: Tensor): Tensor {
          return x.matmul(this.weight).add(this.bias);
        }
      }
      const [w, b] = [weights([3, 2]), weights([2], 1)];
      return {
        fn: (x: Tensor) => new Linear(w, b).forward(x).pow(2).sum(),
        args: () => [values([4, 3])],
      };
    });
    expect([stats.graphs, stats.breaks]).toEqual([1, []]);
  });

  it('a class that is changed, or another one, is traced anew', () => {
    class First {
      value(): number {
        return 1;
      }
    }
    class Second {
      value(): number {
        return 2;
      }
    }
    class Heir extends First {}
    expectSameAsEager(
      () => {
        const original = First.prototype.value;
        Object.setPrototypeOf(Heir, First);
        Object.setPrototypeOf(Heir.prototype, First.prototype);
        First.prototype.value = original;
        return {
          fn: (x: Tensor, Type: typeof First) => {
            const heir = new Heir();
            return x.mul(new Type().value()).add(heir.value());
          },
          args: (call) => {
            if (call === 3) First.prototype.value = () => 7;
            if (call === 4) {
              First.prototype.value = original;
              Object.setPrototypeOf(Heir, Second);
              Object.setPrototypeOf(Heir.prototype, Second.prototype);
            }
            return [values([2]), call === 2 ? Second : First];
          },
        };
      },
      { calls: 6 },
    );
  });

  it('an iterable class, a generator method and early exits', () => {
    const { stats } = expectSameAsEager(() => {
      const log: string[] = [];
      class Batches {
        constructor(
          readonly x: Tensor,
          readonly count: number,
        ) {}
        *[Symbol.iterator](): Generator<Tensor> {
          try {
            for (let i = 0; i < this.count; i++) yield this.x.add(i);
          } finally {
            log.push('closed');
          }
        }
        *pairs(): Generator<[number, Tensor]> {
          let i = 0;
          for (const batch of this) yield [i++, batch];
        }
      }
      return {
        fn: (x: Tensor) => {
          const batches = new Batches(x, 3);
          let sum = x;
          for (const batch of batches) sum = sum.add(batch);
          for (const [i, batch] of batches.pairs()) {
            if (i === 1) break;
            sum = sum.mul(batch);
          }
          return [sum, [...batches].length];
        },
        args: () => [values([2])],
        state: () => log,
      };
    });
    expect([stats.graphs, stats.breaks]).toEqual([1, []]);
  });
});
