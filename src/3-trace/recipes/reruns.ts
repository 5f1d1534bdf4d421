import { sourceKey } from '../../guards/source-key.ts';
import type { Rerun } from '../../traces/reruns.ts';
import { nodesBelow } from '../state/recorded-graph.ts';
import type { Tracer } from '../state/tracer.ts';
import type { Variable } from '../variables/variable.ts';
import type { Reconstruction } from './reconstruct.ts';

/** Returns what the bodies of `checkpoint` calls read that code after the graph may change before backward. */
export function rerunsAfter(t: Tracer, reconstruction: Reconstruction): Rerun[] {
  return t.autograd.checkpoints.flatMap((work) => {
    const rerun = work.rerun();
    if (!rerun) return [];
    const nodes = new Set<unknown>(rerun.nodes);
    const outputs = reconstruction.outputs.tensors.flatMap((tensor, i) =>
      [...nodesBelow(tensor)].some((node) => nodes.has(node)) ? [i] : [],
    );
    if (outputs.length === 0) return [];
    const { places } = rerun;
    const read = places.sources.filter(({ kind }) => kind !== 'random' && kind !== 'called');
    const sources = [...read, ...t.effects.writtenAmong(rerun.reads)];
    const changed = [...rerun.reads].flatMap(([object, keys]) =>
      [...t.effects.partsChanged(object, keys)].flatMap((part) => part ?? []),
    );
    const lists = places.lists(changed);
    const made = (variable: Variable, keys: readonly string[] | null) => {
      // What code can't reach doesn't change.
      const index = reconstruction.indexOf(variable);
      return index === undefined ? [] : [{ index, keys }];
    };
    return [
      {
        outputs,
        sources: [...new Map(sources.map((source) => [sourceKey(source), source])).values()],
        made: [
          ...[...places.cells].flatMap((cell) => made(cell, ['value'])),
          ...[...places.objects].flatMap(([object, keys]) => made(object, [...keys])),
          ...lists.flatMap((list) => made(list, null)),
        ],
        contents: lists.flatMap((list) =>
          'outer' in list && list.outer && 'source' in list.outer ? [list.outer.source] : [],
        ),
      },
    ];
  });
}
