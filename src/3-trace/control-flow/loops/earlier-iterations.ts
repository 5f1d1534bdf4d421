import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { isLeaf, nodesBelow } from '../../state/recorded-graph.ts';
import { type RegionBuilder, regionWith } from '../../state/region-builder.ts';

/** A request for the gradient of `requested`, from a root that depends on the carried value `index`. */
interface Request {
  readonly index: number;
  readonly requested: Tensor;
}

const requests = new WeakMap<RegionBuilder, Request[]>();

/**
 * Records a backward inside a loop that stops at these tensors. In the body, the graph starts at the loop-carried
 * values; in eager execution, it continues into the graph that earlier iterations recorded.
 */
export function noteRequest(roots: readonly Tensor[], requested: readonly Tensor[]): void {
  for (const root of roots) {
    for (const node of nodesBelow(root)) {
      const region = isLeaf(node) ? regionWith(node) : undefined;
      const index = region?.explicitInputs.indexOf(node as Tensor) ?? -1;
      if (!region || index < 0) continue;
      const noted = requests.get(region) ?? [];
      for (const each of requested) if (each !== node) noted.push({ index, requested: each });
      requests.set(region, noted);
    }
  }
}

/**
 * Throws a graph break if such a gradient would flow through a graph that an earlier iteration, or code before the
 * loop, recorded.
 */
export function expectNoneEarlier(
  region: RegionBuilder,
  starts: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const noted = requests.get(region) ?? [];
  if (noted.length === 0) return;
  const below = outputs.map((output) => new Set(nodesBelow(output)));
  const leads = (index: number, requested: Tensor): boolean => {
    const own = region.explicitInputs.indexOf(requested);
    // A request for another carried value: the last iteration computed both.
    if (own >= 0)
      return isBelow(below[index]!, outputs[own]!) || leadsTo(starts[index]!, starts[own]!);
    const seen = new Set([index]);
    // Also visits elements added meanwhile.
    for (const each of seen) {
      if (leadsTo(starts[each]!, requested) || isBelow(below[each]!, requested)) return true;
      region.explicitInputs.forEach((input, i) => {
        if (below[each]!.has(input)) seen.add(i);
      });
    }
    return false;
  };
  for (const { index, requested } of noted) {
    if (regionWith(requested) === region && !region.explicitInputs.includes(requested)) continue;
    if (leads(index, requested)) throw earlier();
  }
}

const leadsTo = (from: Tensor, to: Tensor): boolean => isBelow(new Set(nodesBelow(from)), to);

function isBelow(places: ReadonlySet<unknown>, { requiresGrad, gradEdge, leaf }: Tensor): boolean {
  return requiresGrad && places.has(gradEdge?.node ?? leaf);
}

const earlier = () =>
  new GraphBreak(
    'branch-gradient',
    'grad() in a loop goes through what an earlier iteration has recorded',
  );
