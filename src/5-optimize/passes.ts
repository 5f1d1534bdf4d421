import { type MemoryOptions, mayBeSlower } from '../programs/memory-options.ts';
import type { Steps } from '../programs/steps.ts';
import {
  dropUnreadCopies,
  eliminateDeadCode,
  withoutDead,
  withoutDeadBackward,
} from './cleanup/dead-code.ts';
import { shapesApart } from './cleanup/shapes-apart.ts';
import { shareSubexpressions } from './common-subexpressions.ts';
import { dropReadCopies } from './copies/read-copies.ts';
import { shareCopies } from './copies/share-copies.ts';
import { shareParts } from './copies/share-parts.ts';
import { copyStridedInputs } from './copy-inputs.ts';
import type { Pass, PassContext, Staged } from './facts/pass.ts';
import { foldConstants } from './fold-constants.ts';
import { fusePointwise } from './fuse/fuse-pointwise.ts';
import { fuseRows } from './fuse/fuse-rows.ts';
import { fuseUpdates } from './fuse/fuse-updates.ts';
import { tileAttention } from './fuse/tile-attention.ts';
import { joinCalls } from './join-calls/join-calls.ts';
import { joinedGradients } from './joined-gradients.ts';
import { labelGradient } from './label-gradient.ts';
import { offload } from './offload.ts';
import { pooledRelu } from './pooled-relu.ts';
import { recomputeCheckpoints } from './recompute/recompute-checkpoints.ts';
import { recomputeScores } from './recompute-scores.ts';
import { rematerialize } from './rematerialize.ts';
import { savedDtype } from './saved-dtype.ts';
import { savedMasks } from './saved-masks.ts';
import { savedPlaces } from './saved-places.ts';
import { simplify } from './simplify.ts';
import { chooseSlices, limitsPlannedOnce } from './slices/choose-slices.ts';

/**
 * The optimizer: all passes in execution order. A program's results are bitwise identical with and without each
 * pass, except `savedDtype`, which runs only on request. A new pass is one file and one line here.
 */
export const passes = [
  {
    name: 'copyInputs',
    stages: ['joint', 'step'],
    enabled: ({ memory }) => !memory.stridedInputs,
    run: copyStridedInputs,
  },
  {
    name: 'joinCalls',
    stages: ['traced'],
    run: onProgram((program) => joinCalls(program, new Set(program.outputs))),
  },
  {
    name: 'readCopies',
    stages: ['traced', 'region'],
    run: onProgram((program, _before, { stage }) => dropReadCopies(program, stage === 'region')),
  },
  { name: 'deadCode', stages: ['traced'], run: onProgram(withoutDeadCode) },
  { name: 'deadBackward', stages: ['joint'], run: withoutDeadBackward },
  {
    name: 'unreadCopies',
    stages: ['step'],
    run: onProgram((program) => ({
      ...program,
      ops: dropUnreadCopies(program.ops, program.outputs),
    })),
  },
  { name: 'foldConstants', stages: ['joint', 'step'], enabled: simplifies, run: foldConstants },
  {
    name: 'shareSubexpressions',
    stages: ['joint', 'step'],
    enabled: simplifies,
    run: shareSubexpressions,
  },
  { name: 'simplify', stages: ['joint', 'step'], enabled: simplifies, run: simplify },
  { name: 'deadSimplified', stages: ['joint', 'step'], enabled: simplifies, run: withoutDead },
  {
    name: 'pooledRelu',
    stages: ['joint', 'step', 'region', 'again'],
    enabled: minimizesSaved,
    run: onProgram(pooledRelu),
  },
  {
    name: 'labelGradient',
    stages: ['joint', 'step', 'region'],
    enabled: minimizesSaved,
    run: onProgram(labelGradient),
  },
  {
    name: 'joinedGradients',
    stages: ['joint', 'step', 'region'],
    // If the gradient of one result is missing, the signs of zeros in sums differ.
    enabled: (context) => minimizesSaved(context) && context.gradOutputs <= 1,
    run: onProgram((program, { firstLate }) => joinedGradients(program, firstLate)),
  },
  {
    name: 'shareCopies',
    stages: ['joint', 'step', 'region', 'again'],
    enabled: minimizesSaved,
    run: onProgram((program, { alsoRead }, { stage }) =>
      shareCopies(program, { recorded: stage === 'again', alsoRead }),
    ),
  },
  {
    name: 'shareParts',
    stages: ['joint', 'step', 'region'],
    enabled: minimizesSaved,
    run: onProgram((program, { firstLate }) => shareParts(program, firstLate)),
  },
  {
    name: 'rematerialize',
    stages: ['joint', 'step', 'region'],
    enabled: minimizesSaved,
    run: onProgram((program, { firstLate, alsoRead }, { stage }) =>
      rematerialize(program, { firstLate, inputsStay: stage !== 'joint', returned: alsoRead }),
    ),
  },
  {
    name: 'deadRematerialized',
    stages: ['joint', 'step', 'region'],
    enabled: minimizesSaved,
    run: onProgram(withoutDeadRematerialized),
  },
  {
    name: 'savedMasks',
    stages: ['joint', 'step'],
    // A first plan compares no bytes, and a mask saved besides other values costs memory.
    enabled: ({ memory, isFirst }) => memory.savedMasks && !isFirst,
    run: savedMasks,
  },
  {
    name: 'recomputeScores',
    stages: ['joint', 'step'],
    // Groups are chosen in the planned order of ops.
    enabled: ({ memory, isFirst }) =>
      memory.recomputeScores && memory.order && memory.freeAtLastUse && !isFirst,
    run: recomputeScores,
  },
  {
    name: 'savedPlaces',
    stages: ['joint', 'step'],
    enabled: ({ memory }) => memory.savedPlaces,
    run: savedPlaces,
  },
  {
    name: 'savedDtype',
    stages: ['joint', 'step'],
    enabled: ({ memory }) => memory.savedDtype !== null,
    run: savedDtype,
  },
  {
    name: 'offload',
    stages: ['joint', 'step'],
    enabled: ({ memory }) => memory.offload !== null,
    run: offload,
  },
  { name: 'checkpoints', stages: ['joint', 'step'], run: recomputeCheckpoints },
  {
    name: 'slices',
    stages: ['step', 'region'],
    enabled: ({ memory, isFirst }) =>
      memory.slices && memory.order && memory.freeAtLastUse && !isFirst,
    run: sliced,
  },
  {
    name: 'shapesApart',
    stages: ['step'],
    // Costs one more launch, but lets fused ops compute the value a few rows at a time.
    enabled: ({ memory, isFirst }) => memory.order && !isFirst && mayBeSlower(memory),
    run: onProgram(shapesApart),
  },
  {
    name: 'tileAttention',
    stages: ['ordered'],
    // Computes the scores three times.
    enabled: ({ memory }) => memory.order && memory.freeAtLastUse && mayBeSlower(memory),
    run: tileAttention,
  },
  {
    name: 'fusePointwise',
    stages: ['ordered'],
    enabled: ({ memory }) => memory.order && memory.freeAtLastUse,
    run: fusePointwise,
  },
  {
    name: 'fuseRows',
    stages: ['ordered'],
    enabled: ({ memory }) => memory.order && memory.freeAtLastUse,
    run: fuseRows,
  },
  {
    name: 'fuseUpdates',
    stages: ['fused'],
    enabled: ({ memory }) => memory.order && memory.freeAtLastUse,
    run: fuseUpdates,
  },
] as const satisfies readonly Pass[];

export type PassName = (typeof passes)[number]['name'];

/** Names of all passes, in execution order. */
export const passNames: readonly PassName[] = passes.map(({ name }) => name);

function onProgram(
  run: (program: Staged['program'], staged: Staged, context: PassContext) => Staged['program'],
): Pass['run'] {
  return (staged, context) => ({ ...staged, program: run(staged.program, staged, context) });
}

function* sliced(staged: Staged, { costOf, memory, choices }: PassContext): Steps<Staged> {
  const { budget, prefer } = memory;
  const options = {
    choices,
    mayRecompute: budget !== null,
    ...(budget === null && limitsPlannedOnce),
    // Within a budget, bytes are worth as much as time but no more: use as few slices as fit.
    ...(budget !== null &&
      prefer === 'time' && { enough: budget + costOf({ ...staged.program, ops: [] }) }),
  };
  const program = yield* chooseSlices(staged.program, costOf, mayBeSlower(memory), options);
  return { ...staged, program };
}

function minimizesSaved({ memory }: { readonly memory: MemoryOptions }): boolean {
  return memory.minimizeSaved;
}

function simplifies({ memory }: { readonly memory: MemoryOptions }): boolean {
  return memory.simplify;
}

function withoutDeadCode(program: Staged['program']): Staged['program'] {
  return { ...program, ops: eliminateDeadCode(program.ops, program.outputs) };
}

/** Runs only on the backward part of a joint program: its forward part remains as the user wrote it. */
function withoutDeadRematerialized(
  program: Staged['program'],
  { firstLate }: Staged,
  { stage }: PassContext,
): Staged['program'] {
  if (stage !== 'joint') return withoutDeadCode(program);
  const late = eliminateDeadCode(program.ops.slice(firstLate), program.outputs);
  return { ...program, ops: [...program.ops.slice(0, firstLate), ...late] };
}
