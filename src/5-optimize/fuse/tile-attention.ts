import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { PassContext, Staged } from '../facts/pass.ts';
import { attentionGroups, gathered } from './attention-groups.ts';
import { fuseGroups, writeGroups } from './fuse-groups.ts';
import { gradientSources } from './gradient-sources.ts';

/**
 * In: a program in the order of its plan. Out: the same program with attention, from the product that computes the
 * scores to the product with the weights, fused into one op, and its gradient into another, on devices that compute
 * them by tiles. No value with an element per query and key then takes memory. Sums keep their order, so the bits are
 * the same.
 */
export function tileAttention(staged: Staged, context: PassContext): Staged {
  const { program } = staged;
  const staying = new Set([...program.outputs, ...staged.alsoRead]);
  const sources = gradientSources(program, context.gradients ?? []);
  const found = attentionGroups(program, staying, {
    fixed: new Set([...(context.fixed ?? []), ...sources.joined]),
    sourcesOf: sources.of,
  });
  if (found.length === 0) return staged;
  const together = gathered(program, found);
  const fused = fuseGroups({ ...staged, program: together.program }, context, ({ adjacent }) =>
    adjacent ? [] : [...together.groups],
  );
  return fused.program === together.program ? staged : fused;
}

/** Returns the program with all attention by tiles, in its given order: an estimate of what is planned. */
export function tiledForm(program: Program, staying: ReadonlySet<ValueId>): Program {
  const found = attentionGroups(program, staying, { fixed: new Set(), sourcesOf: () => 0n });
  if (found.length === 0) return program;
  const together = gathered(program, found);
  return writeGroups(together.program, staying, together.groups);
}
