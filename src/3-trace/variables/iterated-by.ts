import { collectionType } from '../../guards/collection-slots.ts';
import type { IteratorVariable } from './iterator-variables.ts';

/** Returns the kind of object that a built-in iterator iterates over. */
export function iteratedBy({ over }: IteratorVariable): 'array' | 'map' | 'set' {
  if (over.kind === 'newArray') return 'array';
  if (over.kind === 'newCollection') return over.type === 'Map' ? 'map' : 'set';
  if (over.kind === 'newTypedArray') return 'array';
  if (Array.isArray(over.value) || ArrayBuffer.isView(over.value)) return 'array';
  return collectionType(over.value) === 'Map' ? 'map' : 'set';
}
