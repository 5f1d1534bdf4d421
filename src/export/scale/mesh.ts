import { ArgumentError } from '../../../runtime/errors/errors.ts';

/** The devices of a mesh: sizes by axis, in order. */
export type Mesh = ReadonlyMap<string, number>;

/** The mesh axis over which each dimension of a tensor is split; null if not split. Other dimensions are not split. */
export type PartitionSpec = readonly (string | null)[];

/** Parses `data=4,model=2`. Throws ArgumentError. */
export function parseMesh(text: string): Mesh {
  const mesh = new Map<string, number>();
  for (const part of text.split(',')) {
    const [, axis, digits] = /^([A-Za-z]\w*)=([1-9]\d{0,8})$/.exec(part) ?? [];
    if (axis === undefined || mesh.has(axis)) {
      throw new ArgumentError({
        what: 'scale: the mesh',
        given: text,
        expected: 'axes with their sizes, each axis once',
        remedy: 'for example --mesh data=4, or --mesh data=4,model=2',
      });
    }
    mesh.set(axis, Number(digits));
  }
  return mesh;
}

/** A hint that shards the tensors whose names match. */
export interface ShardHint {
  readonly text: string;
  readonly matches: (name: string) => boolean;
  readonly spec: PartitionSpec;
}

/**
 * Parses `NAME=axis,…`: `*` in a name matches any text, `-` is a dimension that is not split. Throws ArgumentError.
 */
export function parseShardHint(text: string, mesh: Mesh): ShardHint {
  const at = text.lastIndexOf('=');
  const [name, axes] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1).split(',')];
  const spec = axes.map((axis) => (axis === '-' ? null : axis));
  const used = spec.filter((axis) => axis !== null);
  const isValid = used.every((axis) => mesh.has(axis)) && new Set(used).size === used.length;
  if (name === '' || !isValid) {
    throw new ArgumentError({
      what: 'scale: a shard hint',
      given: text,
      expected: `NAME=axis,… with axes of the mesh (${[...mesh.keys()].join(', ')}), each once, or - for a dimension that isn't split`,
      remedy: "for example --shard 'model.0.weight=model,-'",
    });
  }
  const parts = name.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'));
  const pattern = new RegExp(`^${parts.join('.*')}$`, 's');
  return { text, matches: (candidate) => pattern.test(candidate), spec };
}
