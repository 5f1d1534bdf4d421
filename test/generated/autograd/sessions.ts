/** Calls of a function, what changes between a call and its backward, and backwards of parts of the results. */

import * as lib from '../../../src/index.ts';
import { backward, CaptureError, grad, noGrad, seed, Tensor, tidy } from '../../../src/index.ts';
import { values, weights } from '../../trace/same-as-eager.ts';
import { describeError, describeValues } from '../../trace/snapshot.ts';
import { Choices, type Node } from '../control/tree.ts';
import { results, Statements, worldText } from './programs.ts';

type Fn = (x: Tensor, y: Tensor, k: number, flag: boolean) => unknown;

interface World {
  readonly fn: Fn;
  readonly w0: Tensor;
  readonly w1: Tensor;
  readonly shared: { w: Tensor };
  readonly model: { weight: Tensor };
  readonly log: unknown[];
  readonly held: Tensor[];
  readonly state: () => unknown[];
}

interface Call {
  readonly world: World;
  readonly x: Tensor;
  readonly results: readonly Tensor[];
  /** Results that can be differentiated. */
  readonly roots: readonly Tensor[];
}

/** Between a call and its backward. */
const changes: Readonly<Record<string, (call: Call) => unknown>> = {
  nothing: () => {},
  freeze: ({ world }) => world.w0.requiresGrad_(false),
  thaw: ({ world }) => [world.w0, world.w1].map((w) => w.requiresGrad_(true)),
  'write to a view': ({ results: [first] }) => noGrad(() => first?.narrow(0, 0, 1).add_(0.5)),
  'write to a result': ({ roots: [root] }) => root?.mul_(2),
  'write to a weight': ({ world }) => noGrad(() => world.w0.mul_(1.5)),
  'write to an argument': ({ x }) => noGrad(() => x.mul_(1.5)),
  tie: ({ world }) => {
    world.shared.w = world.w0;
  },
  swap: ({ world: { shared, model } }) => {
    [shared.w, model.weight] = [model.weight, shared.w];
  },
  hook: ({ world, roots: [root] }) =>
    root?.registerHook((g) => {
      world.log.push('outer');
      return g.mul(3);
    }),
};

const seedOf = (root: Tensor, salt: number) => values([...root.shape], salt);

const backwards: Readonly<Record<string, (call: Call) => unknown>> = {
  one: ({ roots: [root] }) => backward(root!, seedOf(root!, 1)),
  'one after the other': ({ roots }) => {
    for (const [i, root] of roots.entries()) backward(root, seedOf(root, i));
  },
  'each, retained': ({ roots }) => {
    for (const [i, root] of roots.entries()) {
      backward(root, seedOf(root, i), { retainGraph: true });
    }
  },
  'a part, then another': ({ world: { w0, w1 }, roots }) => {
    const inputs = [w0.requiresGrad ? w0 : w1];
    backward(roots[0]!, seedOf(roots[0]!, 1), { retainGraph: true, inputs });
    backward(roots.at(-1)!, seedOf(roots.at(-1)!, 2));
  },
  twice: ({ roots: [root] }) => {
    backward(root!, seedOf(root!, 1), { retainGraph: true });
    backward(root!, seedOf(root!, 2));
  },
  'of weights': ({ world: { w0, w1, shared }, roots: [root] }) => {
    const inputs = [w0, w1, shared.w].filter((w) => w.requiresGrad);
    return grad(root!.sum(), inputs, { allowUnused: true, retainGraph: true });
  },
  second: ({ world: { w0, w1 }, roots: [root] }) => {
    const inputs = [w0, w1].filter((w) => w.requiresGrad);
    const loss = root!.mul(root!).sum();
    const found = grad(loss, inputs, { allowUnused: true, createGraph: true });
    found
      .find((g) => g?.requiresGrad)
      ?.sum()
      .backward();
    return found;
  },
};

const calls = 4;

export interface Session {
  readonly nodes: readonly Node[];
  readonly result: string;
  readonly changes: readonly string[];
  readonly backwards: readonly string[];
}

export function sessionFrom(seed: number): Session {
  const choices = new Choices(seed);
  const statements = new Statements(choices);
  const each = (names: object) =>
    Array.from({ length: calls }, () => choices.one(Object.keys(names)));
  return {
    nodes: [...statements.block(), ...statements.block()],
    result: choices.one(results),
    changes: each(changes),
    backwards: each(backwards),
  };
}

/** What is seen after each step, until a backward throws: then some leaves were reached, or others. */
export function runSession(session: Session, wrap: (fn: Fn) => Fn): readonly string[] | 'refused' {
  const { nodes, result, changes: between, backwards: after } = session;
  const text = worldText(nodes, result);
  const make = new Function('lib', 'values', 'weights', text)(lib, values, weights) as () => World;
  const seen: string[] = [];
  let goesOn = true;
  const see = (what: unknown) => seen.push(JSON.stringify(describeValues([what]), withoutLayout));
  const attempt = (body: () => unknown): boolean => {
    try {
      see(body());
      return true;
    } catch (error) {
      if (error instanceof CaptureError) throw error;
      see(thrown(error));
      return false;
    }
  };
  try {
    tidy(() => {
      const world = make();
      const run = wrap(world.fn);
      for (let number = 0; number < calls && goesOn; number++) {
        seed(number);
        const [x, y] = [values([2, 3], number + 20), values([2, 3], 7)];
        if (number % 2 === 1) x.requiresGrad_();
        let found: unknown;
        attempt(() => {
          found = run(x, y, [1, 2, 1, 1][number]!, number !== 1);
          return found;
        });
        see([world.state(), x, y]);
        const all = [...tensorsIn(found)].filter((each) => !each.disposed);
        const roots = all.filter((each) => each.requiresGrad && !each.isLeaf);
        const call = { world, x, results: all, roots };
        attempt(() => void changes[between[number]!]!(call));
        if (roots.length > 0) goesOn = attempt(() => backwards[after[number]!]!(call));
        if (goesOn) see([world.state(), x, y, found]);
        if (number % 2 === 1) world.held.length = 0;
      }
      for (const each of tensorsIn(world.state())) if (!each.disposed) each.grad?.dispose();
    });
  } catch (error) {
    if (error instanceof CaptureError) return 'refused';
    throw error;
  }
  return seen;
}

const written = 'a value that it needs was changed in place';
const twice = 'a second time';

/** One program names itself where eager execution names the op. */
function thrown(error: unknown): unknown {
  const { error: name, message = '' } = describeError(error) as Record<string, string | undefined>;
  const reason = [written, twice].find((text) => message.includes(text));
  return { name, message: reason ?? message.split('\n')[0] };
}

/**
 * What both must have seen. Of what was written in place between a call and its backward, a program refuses what its
 * own backward reads: less than eager execution, or more if it recomputes a checkpoint.
 */
export function comparable(
  expected: readonly string[],
  found: readonly string[],
): readonly (readonly string[])[] {
  const until = [expected, found].map((all) => all.findIndex((each) => each.includes(written)));
  const end = Math.min(...until.filter((at) => at >= 0), Number.POSITIVE_INFINITY);
  return [expected.slice(0, end), found.slice(0, end)];
}

/** The layout of a gradient is that of the part of the function that computes it. */
function withoutLayout(key: string, value: unknown): unknown {
  return key === 'isContiguous' ? undefined : value;
}

function* tensorsIn(value: unknown, seen = new Set<object>()): Generator<Tensor> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (value instanceof Tensor) yield value;
  else for (const each of Object.values(value)) yield* tensorsIn(each, seen);
}
