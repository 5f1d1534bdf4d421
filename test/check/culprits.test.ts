import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import type { ProgramOp } from '../../runtime/program/program.ts';
import type { Pass, Staged } from '../../src/5-optimize/facts/pass.ts';
import { type PassName, passes, passNames } from '../../src/5-optimize/passes.ts';
import { Compilation } from '../../src/compile/compilation.ts';
import {
  breakGraph,
  CheckError,
  init,
  type MemoryChoice,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import {
  type MemoryOptions,
  type MemorySwitches,
  memorySwitches,
} from '../../src/programs/memory-options.ts';
import { values } from '../trace/same-as-eager.ts';
import { after } from './finished-pass.ts';

beforeAll(async () => {
  await init('file');
  await init('cpu');
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Multiplies by 3 instead of 2, in an op of its own or fused with others. */
function wronged(op: ProgramOp): ProgramOp {
  const attrs = Object.entries(op.attrs).map(([key, value]) =>
    /(^|\.)value$/.test(key) && value === 2 ? [key, 3] : [key, value],
  );
  return { ...op, attrs: Object.fromEntries(attrs) };
}

/** Lets a pass change a factor beside its work. */
function breakPass(name: PassName): void {
  const pass: Pass = passes.find((each) => each.name === name)!;
  const { run } = pass;
  vi.spyOn(pass, 'run').mockImplementation((given, context): Staged => {
    const done = after(run(given, context));
    return { ...done, program: { ...done.program, ops: done.program.ops.map(wronged) } };
  });
}

const loss = (x: Tensor) => x.mul(2).exp().sum();

const step = (x: Tensor) => {
  const y = loss(x);
  y.backward();
  return y;
};

/** Options with which a pass runs and its program is chosen, where the defaults aren't enough. */
const options: Partial<Record<PassName, MemoryChoice>> = {
  copyInputs: { stridedInputs: false },
  savedMasks: { budget: 1e6 },
  recomputeScores: { budget: 1e6 },
  offload: { offload: 'file' },
  shapesApart: { prefer: 'bytes' },
  tileAttention: { prefer: 'bytes' },
};

/** Rounds saved values, so check mode rejects it. */
const unchecked: readonly PassName[] = ['savedDtype'];

function findDifference(name: PassName): CheckError | null {
  // Of a step no gradients come from outside.
  const isJoint = name === 'deadBackward';
  const f = toStatic(isJoint ? loss : step, { check: 2, memory: options[name] ?? 'planned' });
  for (let call = 0; call < 2; call++) {
    try {
      const y = f(values([8, 8], call).requiresGrad_());
      if (isJoint) y.backward();
    } catch (error) {
      if (error instanceof CheckError) return error;
      throw error;
    }
    void f.ready();
  }
  return null;
}

it.each(passNames.filter((name) => !unchecked.includes(name)))(
  'check mode names the pass %s if it is wrong, whatever it needs to run',
  (name) => {
    breakPass(name);
    const error = findDifference(name);
    expect(error?.culprit).toBe(name);
    expect(error?.message).toContain(`passes: { ${name}: false }`);
  },
);

/** Lets every plan that is made with the switch on change a factor. */
function breakPlans(isOn: (memory: MemoryOptions) => boolean): void {
  const { optimize } = Compilation.prototype;
  vi.spyOn(Compilation.prototype, 'optimize').mockImplementation(function (
    this: Compilation,
    given,
    context,
  ) {
    const done = optimize.call(this, given, context);
    if (context.stage !== 'ordered' || !isOn(context.memory)) return done;
    return { ...done, program: { ...done.program, ops: done.program.ops.map(wronged) } };
  });
}

/** A step of two parts: the second takes over the result of the first. */
const stepInParts = (x: Tensor) => {
  const y = x.mul(3);
  breakGraph();
  const z = y.mul(2).exp().sum();
  z.backward();
  return z;
};

/** What acts through passes alone is named by the pass. */
const actsByPasses: readonly (keyof MemorySwitches)[] = [
  'simplify',
  'minimizeSaved',
  'savedMasks',
  'savedPlaces',
  'recomputeScores',
  'slices',
  'stridedInputs',
];

it.each([...memorySwitches.filter((name) => !actsByPasses.includes(name)), 'budget' as const])(
  'check mode names the memory option %s if plans made with it are wrong',
  (name) => {
    const memory = name === 'budget' ? { budget: 1e6 } : {};
    breakPlans((own) => (name === 'budget' ? own.budget !== null : own[name] === true));
    const f = toStatic(stepInParts, { check: 2, memory });
    let found: unknown;
    try {
      for (let call = 0; call < 2; call++) f(values([8, 8], call).requiresGrad_());
    } catch (error) {
      found = error;
    }
    expect(found).toBeInstanceOf(CheckError);
    const { culprit, message, value } = found as CheckError;
    expect(culprit).toBe(name === 'budget' ? 'the budget' : name);
    expect(message).toContain(`memory: { ${name}: ${name === 'budget' ? null : false} }`);
    expect(value?.op).toBe('mul');
  },
);
