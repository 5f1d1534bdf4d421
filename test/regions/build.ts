/** Programs with control ops, built by hand. */

import { contiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { withInterceptor } from '../../runtime/ops/core/bind.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import { Subgraph } from '../../runtime/run-program/run-program.ts';
import type { EnclosingProgram } from '../../src/3-trace/state/enclosing-program.ts';
import { capturedByAny, RegionBuilder } from '../../src/3-trace/state/region-builder.ts';
import { differentiateRegion } from '../../src/4-differentiate/differentiate.ts';
import { normalize } from '../../src/5-optimize/cleanup/normalize.ts';
import type { Tensor } from '../../src/index.ts';
import { compileSubgraph } from '../../src/pipeline.ts';
import { appendControl } from '../../src/regions/append-control.ts';

export type Body = (...given: Tensor[]) => Tensor[];

export interface Build {
  /** Regions get `given` as their first inputs; everything else is captured. */
  control(op: OpRecord, first: Tensor[], given: Tensor[], bodies: Body[]): Tensor[];
}

/** Compiles `body`, which appends ops to a program with inputs like `inputs`. */
export function compile(
  inputs: readonly Tensor[],
  body: (build: Build, ...x: Tensor[]) => Tensor[],
) {
  const root = new ProgramBuilder(() => {
    throw new Error('no data here');
  });
  let surroundings: EnclosingProgram = {
    builder: root,
    tape: [],
    capture: () => fail(),
    outside: () => [],
  };
  const build: Build = {
    control(op, first, given, bodies) {
      const outer = surroundings;
      const built = bodies.map((each) => {
        const region = new RegionBuilder(outer);
        surroundings = region;
        const outputs = withInterceptor(region.builder, () =>
          each(...given.map((tensor) => region.give(tensor))),
        );
        surroundings = outer;
        region.captureAll(outputs);
        return { region, outputs };
      });
      const captured = capturedByAny(
        outer.builder,
        built.map(({ region }) => region),
      );
      const regions = built.map(({ region, outputs }) => ({
        program: normalize(region.finish(captured, outputs)),
        joint: null,
      }));
      const operands = [...first, ...given, ...captured];
      return withInterceptor(outer.builder, () =>
        appendControl(outer.builder, op, operands, regions, differentiateRegion).slice(0, -1),
      );
    },
  };
  const program = withInterceptor(root, () => {
    const traced = inputs.map((x) =>
      root.input(contiguousMeta(x, x.device)).requiresGrad_(x.requiresGrad),
    );
    const outputs = body(build, ...traced);
    return root.finish(outputs.map((output) => root.valueOf(output)));
  });
  const stages = compileSubgraph(program, {
    needsGrad: inputs.map((x) => x.requiresGrad),
    differentiable: program.outputs.map(() => true),
  });
  return { program, stages, subgraph: new Subgraph(stages.planned) };
}

function fail(): never {
  throw new Error('nothing to capture');
}
