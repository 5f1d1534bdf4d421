/** Set methods of ECMAScript 2025, for two built-in Sets or a Set and a Map. */

type Members = Pick<Set<unknown>, 'has' | 'keys' | 'size'>;

export function union(this: Set<unknown>, other: Members): Set<unknown> {
  const result = new Set(this);
  for (const key of other.keys()) result.add(key);
  return result;
}

export function intersection(this: Set<unknown>, other: Members): Set<unknown> {
  const isSmaller = this.size <= other.size;
  const all = isSmaller ? other : this;
  const result = new Set();
  for (const key of (isSmaller ? this : other).keys()) if (all.has(key)) result.add(key);
  return result;
}

export function difference(this: Set<unknown>, other: Members): Set<unknown> {
  const result = new Set();
  for (const key of this.keys()) if (!other.has(key)) result.add(key);
  return result;
}

export function symmetricDifference(this: Set<unknown>, other: Members): Set<unknown> {
  const result = new Set(this);
  for (const key of other.keys()) {
    if (this.has(key)) result.delete(key);
    else result.add(key);
  }
  return result;
}

export function isSubsetOf(this: Set<unknown>, other: Members): boolean {
  if (this.size > other.size) return false;
  for (const key of this.keys()) if (!other.has(key)) return false;
  return true;
}

export function isSupersetOf(this: Set<unknown>, other: Members): boolean {
  if (this.size < other.size) return false;
  for (const key of other.keys()) if (!this.has(key)) return false;
  return true;
}

export function isDisjointFrom(this: Set<unknown>, other: Members): boolean {
  for (const key of this.keys()) if (other.has(key)) return false;
  return true;
}
