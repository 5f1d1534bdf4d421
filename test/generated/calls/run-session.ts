import * as lib from '../../../src/index.ts';
import { grad, noGrad, type StaticFunction, seed, type Tensor } from '../../../src/index.ts';
import { values, weights } from '../../trace/same-as-eager.ts';
import { describeValues } from '../../trace/snapshot.ts';
import type { Action, CallSession } from './sessions.ts';

type Fn = (x: Tensor, y: Tensor, k: number) => Tensor[];

/** How the functions of a session are run: as they are, or by `toStatic`. */
export type Wrap = (fn: Fn) => Fn & Partial<Pick<StaticFunction<Fn>, 'ready'>>;

interface World {
  readonly fns: readonly ReturnType<Wrap>[];
  readonly w0: Tensor;
  readonly w1: Tensor;
  readonly log: unknown[];
  readonly state: { readonly buffer: Tensor; last: Tensor; n: number };
}

/** What can be seen after an action. */
export interface Seen {
  readonly outcome: string;
  /** Whether the action asks for gradients. */
  readonly differentiates: boolean;
  readonly everything: unknown;
}

const worldOf = ({ functions }: CallSession) =>
  new Function(
    ...['lib', 'values', 'weights', 'wrap'],
    `'use strict';
const { noGrad, grad, dropout, customFunction } = lib;
const w0 = weights([2, 3], 1), w1 = weights([2, 3], 2), log = [];
const state = { last: values([2, 3], 3), buffer: values([2, 3], 4), n: 0 };
const note = Reflect.apply.bind(null, (value) => { log.push(value); }, null);
const cube = customFunction({
  name: 'cube',
  forward: (ctx, t) => { ctx.saveForBackward(t); return t.mul(t).mul(t); },
  backward: (ctx, d) => [ctx.savedTensors[0].mul(ctx.savedTensors[0]).mul(d).mul(3)],
});
const fns = [${functions.map((each) => `(x, y, k) => {\n  ${each}\n}`).join(', ')}].map(wrap);
return { fns, w0, w1, log, state };`,
  ) as (api: typeof lib, ...more: [typeof values, typeof weights, Wrap]) => World;

/** Runs a session to its end, or to the first request for gradients that fails: how far that gets may differ. */
export function* runSession(session: CallSession, wrap: Wrap): Generator<Seen> {
  seed(1);
  const world = worldOf(session)(lib, values, weights, wrap);
  const pool = [values([2, 3], 11), values([2, 3], 12), weights([2, 3], 13)];
  for (const action of session.actions) {
    const differentiates = /backward|gradient/.test(action.is) && !action.is.startsWith('call');
    let outcome = 'done';
    try {
      perform(action, pool, world);
    } catch (error) {
      const { name, message } = error as Error;
      // One program says its own name where eager execution names the op.
      const [what] = message.replace(/^[^:]*: /, '').split('\n', 1);
      outcome = `${name}: ${what!.replace(/through \w+ a second/, 'through an op a second')}`;
    }
    const { w0, w1, log, state } = world;
    yield { outcome, differentiates, everything: describeValues([pool, w0, w1, log, state]) };
    if (differentiates && outcome !== 'done') return;
  }
}

function perform(action: Action, pool: Tensor[], world: World): void {
  const at = (i: number) => pool[i % pool.length]!;
  const matrix = (i: number, otherwise: number) =>
    at(i).shape.length === 2 ? at(i) : pool[otherwise]!;
  const { w0, w1, fns, log } = world;
  switch (action.is) {
    case 'call':
      pool.push(...fns[action.fn]!(matrix(action.x, 0), matrix(action.y, 1), action.k));
      return;
    case 'call without gradients':
      noGrad(() =>
        pool.push(...fns[action.fn]!(matrix(action.x, 0), matrix(action.y, 1), action.k)),
      );
      return;
    case 'backward': {
      const { retain, create } = action;
      const root = at(action.of);
      const options = { retainGraph: retain || create, createGraph: create };
      root.backward(values([...root.shape], 5), options);
      return;
    }
    case 'backward of a sum': {
      const sum = at(action.of).sum().add(at(action.and).sum());
      sum.backward(null, { retainGraph: action.retain });
      return;
    }
    case 'gradient': {
      const root = at(action.of);
      const { retain, create } = action;
      const options = { retainGraph: retain || create, createGraph: create };
      const found = grad(root.mul(root).sum(), [w0, at(action.by)], {
        ...options,
        allowUnused: true,
      });
      for (const each of found) if (each) pool.push(each);
      return;
    }
    case 'backward to': {
      const options = { inputs: [at(action.by), w1], retainGraph: action.retain };
      at(action.of).sum().backward(null, options);
      return;
    }
    case 'combine':
      pool.push(at(action.of).mul(at(action.by)));
      return;
    case 'write to a weight':
      noGrad(() => w0.mul_(1.5));
      return;
    case 'write to a result':
      at(action.of).mul_(2);
      return;
    case 'write to an input':
      noGrad(() => at(action.of).add_(1));
      return;
    case 'hook':
      at(action.of).registerHook((gradient) => {
        log.push('hook');
        return action.by % 2 === 0 ? gradient.mul(3) : null;
      });
      return;
    case 'hook of a weight':
      w0.registerHook(() => {
        log.push('weight');
        return null;
      });
      return;
    case 'retainGrad':
      at(action.of).retainGrad();
      return;
    case 'zeroGrad':
      w0.grad = null;
      w1.grad = null;
      return;
    case 'scale a gradient':
      w0.grad?.mul_(2);
      return;
    case 'freeze':
      w1.requiresGrad_(false);
      return;
    case 'thaw':
      w1.requiresGrad_();
      return;
    case 'dispose':
      if (action.of % pool.length > 2) at(action.of).dispose();
      return;
    case 'drop':
      if (action.of % pool.length > 2) pool.splice(action.of % pool.length, 1);
      return;
    case 'ready':
      for (const fn of fns) void fn.ready?.();
      return;
    case 'leaf of a result':
      pool.push(at(action.of).detach().requiresGrad_());
      return;
  }
}
