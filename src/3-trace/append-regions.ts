import { enableGrad, gradEnabled, noGrad } from '../../runtime/autograd/grad-mode.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { Program, ProgramOp } from '../../runtime/program/program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { appendCall } from '../regions/append-call.ts';
import { appendControl, type DifferentiateRegion } from '../regions/append-control.ts';
import { type PlannedSite, SiteCall } from '../regions/site-call.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import { checkpointsIn } from './control-flow/awaited-checkpoints.ts';
import { followRegions } from './control-flow/copies-in-regions.ts';
import { freedResults, loseFreed, loseMixed, noteSites } from './control-flow/freed-in-regions.ts';
import { replayRegions } from './control-flow/replay-regions.ts';
import { finishedRegion } from './state/region-builder.ts';
import type { DeferredNumber } from './state/tape.ts';
import type { Tracer } from './state/tracer.ts';

/** The later phases that process the programs of branches and loop bodies. */
export interface RegionPhases {
  readonly normalize: (program: Program) => Program;
  readonly differentiate: DifferentiateRegion;
}

/** Result shapes follow from the sizes of this trace; each new size is traced separately. */
export function appendTraced(
  tracer: Tracer,
  phases: RegionPhases,
  planned: PlannedSite,
  inputs: readonly Tensor[],
): Tensor[] {
  return tracer.runOnce(() => appendPlanned(tracer.builder, phases, planned, inputs));
}

/** Result shapes follow from those of the operands, in each program of the trace. */
export function appendResizable(
  tracer: Tracer,
  phases: RegionPhases,
  planned: PlannedSite,
  again: (inputs: readonly Tensor[], counts: readonly (number | null)[]) => PlannedSite,
  inputs: readonly Tensor[],
  counts: readonly (DeferredNumber | null)[],
): Tensor[] {
  return tracer.perform([inputs, counts], (args, builder, replay) => {
    const [operands, numbers] = args as [readonly Tensor[], readonly (number | null)[]];
    const plan = replay ? again(operands, numbers) : planned;
    return appendPlanned(builder, phases, plan, operands);
  });
}

function appendPlanned(
  builder: ProgramBuilder,
  { normalize, differentiate }: RegionPhases,
  { site, sample, results }: PlannedSite,
  inputs: readonly Tensor[],
): Tensor[] {
  const call = new SiteCall(site, sample, normalize);
  return appendCall(builder, call, inputs, results, differentiate).slice(0, -1);
}

export function appendRegions(
  tracer: Tracer,
  { normalize, differentiate }: RegionPhases,
  op: OpRecord,
  inputs: readonly Tensor[],
  programs: readonly Program[],
): Tensor[] {
  const append = (
    operands: readonly Tensor[],
    programs: readonly Program[],
    builder: ProgramBuilder,
  ): Tensor[] => {
    const regions = programs.map((program) => ({ program: normalize(program), joint: null }));
    // The merge is not a user op: even inside `noGrad`, a result keeps the autograd history of the path that
    // computed it.
    const mode = gradEnabled() || leavesHistory(operands, programs) ? enableGrad : noGrad;
    const results = mode(() => appendControl(builder, op, operands, regions, differentiate));
    loseFreed(builder, results, freed);
    return results.slice(0, -1);
  };
  const { builder } = tracer;
  const regions = programs.map(finishedRegion);
  const { freed, mixed } = freedResults(tracer, op, inputs, regions);
  const inside = checkpointsIn(
    tracer,
    op,
    regions.map(({ region }) => region),
  );
  const results = overwritingBreaks(() =>
    tracer.append(() => {
      const appended = append(inputs, programs, builder);
      followRegions(tracer.control.copied, tracer.surroundings, op, inputs, programs, appended);
      return appended;
    }),
  );
  inside.awaitedBy(results);
  noteSites(tracer, results, freed);
  loseMixed(tracer, results, mixed);
  for (const { region } of regions) builder.freedNodes.notePossibly(region.builder.freedNodes.all);
  const own = inputs.slice(0, inputs.length - regions[0]!.captured.length);
  tracer.record(
    own,
    (operands, again, replay) => {
      const { captured, programs } = replayRegions(op, regions, replay!);
      return append([...(operands as Tensor[]), ...captured], programs, again);
    },
    results,
  );
  return results;
}

/** True if a path may return an operand that requires gradients, or a result with autograd history. */
function leavesHistory(operands: readonly Tensor[], programs: readonly Program[]): boolean {
  const records = ({ recordsGrad, regions = [] }: ProgramOp): boolean =>
    recordsGrad || regions.some(({ program }) => program.ops.some(records));
  return programs.some(({ inputs, outputs, ops }) => {
    const regionOperands = operands.slice(operands.length - inputs.length);
    if (!regionOperands.some(({ requiresGrad }) => requiresGrad)) return false;
    return (
      ops.some(records) ||
      inputs.some((id, i) => regionOperands[i]!.requiresGrad && outputs.includes(id))
    );
  });
}

/**
 * Reports the error for overwriting a saved value as a graph break: it is a user error only once that backward
 * runs.
 */
function overwritingBreaks<T>(append: () => T): T {
  try {
    return append();
  } catch (error) {
    if (!(error instanceof AutogradError)) throw error;
    const [what = ''] = error.message.split('\n');
    throw new GraphBreak('in-place', `${what} (in a branch or loop)`);
  }
}
