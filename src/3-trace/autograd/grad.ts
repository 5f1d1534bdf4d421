/** `grad()` inside a trace: the engine runs over the traced graph. */

import { gradWith } from '../../../runtime/backward/grad.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { noteRequest } from '../control-flow/loops/earlier-iterations.ts';
import type { Perform } from '../state/tape.ts';
import type { Tracer } from '../state/tracer.ts';
import { arrayElements, asArray } from '../values/arrays.ts';
import { readProperty } from '../values/properties.ts';
import { known, newArray, type Variable } from '../variables/variable.ts';
import { expectTarget, expectTensor } from './expect-tensor.ts';
import { gradientVariable, neededGradient } from './optional-gradient.ts';
import { flagsOf, seedOf, seedValue } from './options.ts';
import { traceRetaining } from './retained.ts';
import { watched, watchFreed } from './trace-backward.ts';

/** `grad(outputs, inputs, options)` */
export function traceGrad(t: Tracer, args: readonly Variable[]): Variable {
  return t.attempt(() => gradInTrace(t, args));
}

function gradInTrace(t: Tracer, [outputs, inputs, options]: readonly Variable[]): Variable {
  if (!outputs || !inputs) throw new GraphBreak('throw', 'grad() without arguments');
  const flags = flagsOf(
    t,
    'grad',
    options,
    ['createGraph', 'retainGraph', 'allowUnused'],
    ['gradOutputs'],
  );
  const { createGraph = false, retainGraph = createGraph, allowUnused = false } = flags;
  const seeds = options ? seedsOf(t, readProperty(t, options, 'gradOutputs')) : null;
  const roots = elementsOf(t, outputs).map((each) => t.use(expectTensor(each, 'grad')));
  const onFreed = watchFreed(t);
  const run: Perform<(Tensor | null)[]> = ([of, to, currentSeeds], builder) =>
    watched(builder, { retainGraph, onFreed }, (watch) => {
      const gradOutputs = (currentSeeds as (Tensor | null)[] | null)?.map((seed) =>
        seedValue(seed, createGraph),
      );
      const settings = { createGraph, retainGraph: true, allowUnused };
      const request = gradOutputs ? { ...settings, gradOutputs } : settings;
      return gradWith(of as Tensor[], to as Tensor[], request, watch);
    });
  const targets = elementsOf(t, inputs).map((each) => t.use(expectTarget(t, each, 'grad')));
  noteRequest(roots, targets);
  const found = traceRetaining(t, roots, [roots, targets, seeds], run);
  const variableOf = allowUnused ? gradientVariable : neededGradient;
  return newArray(found.map((gradient) => (gradient ? variableOf(t, gradient) : known(null))));
}

function seedsOf(t: Tracer, variable: Variable): (Tensor | null)[] | null {
  const array = asArray(t, variable);
  if (array) return arrayElements(t, array).map((element) => seedOf(t, element));
  const seed = seedOf(t, variable);
  return seed && [seed];
}

function elementsOf(t: Tracer, variable: Variable): readonly Variable[] {
  const array = asArray(t, variable);
  return array ? arrayElements(t, array) : [variable];
}
