/** Runs functions with a `checkpoint` call, and changes what it reads between the call and backward. */

import { expect } from 'vitest';
import { nn, randn, seed, type Tensor, toStatic } from '../../../src/index.ts';

export const [batch, width] = [2, 3];

export class State {
  readonly weights = [randn([width, width]), randn([width, width])].map((w) => w.requiresGrad_());
  w = this.weights[0]!;
  readonly v = this.weights[1]!;
  scale = 2;
  calls = 0;
  layer = new nn.Linear(width, width);
  readonly named = new Map([
    ['w', this.w],
    ['v', this.v],
  ]);
  readonly options: Record<string, number> = { a: 1 };
  own: { w: Tensor } | null = null;
  readonly pushed: Tensor[] = [];
  list: Tensor[] = [];
  lists = new Map<string, Tensor[]>();
  flags: Record<string, number> = {};
  weak = new WeakMap<object, Tensor>();
  held: object | null = null;

  block = (a: Tensor): Tensor => a.matmul(this.w).mul(this.scale).tanh();
}

export interface Case {
  /** Whether backward throws. */
  readonly differs: boolean;
  readonly before?: () => void;
  readonly fn: (state: State) => (x: Tensor) => Tensor;
  /** Runs between the call and backward. */
  readonly between?: (state: State) => void;
}

const modes = [{}, { capture: 'auto' }] as const;

/** Compares the captured function with the eager one; if it `differs`, backward has to say so. */
export function compareCase({ before, fn, between, differs }: Case): void {
  const outcome = (wrap: (fn: (x: Tensor) => Tensor) => (x: Tensor) => Tensor) => {
    seed(4);
    before?.();
    const state = new State();
    const { w, v, layer } = state;
    const call = wrap(fn(state));
    return [1, 2].map(() => {
      const result = call(randn([batch, width]));
      between?.(state);
      let error = '';
      try {
        result.sum().backward();
      } catch (thrown) {
        error = String(thrown);
      }
      Object.assign(state, { w: w.requiresGrad_(), scale: 2, layer });
      state.weights[0] = w;
      state.named.set('w', w);
      const bits = [w, v, layer.weight].map(({ grad }) => grad?.tolist());
      return { error, bits, calls: state.calls };
    });
  };
  const eager = outcome((each) => each);
  for (const mode of modes) {
    const captured = outcome((each) => toStatic(each, mode));
    if (!differs) expect(captured).toEqual(eager);
    else
      for (const { error } of captured) expect(error).toContain('it reads what has changed since');
  }
}
