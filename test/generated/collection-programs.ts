/** Programs that read and change Maps and Sets, whose keys are arguments, properties and tensors. */

import fc from 'fast-check';

export interface CollectionProgram {
  /** Statements of a function of `x` and objects, which returns a tensor and what it has seen. */
  readonly statements: readonly string[];
  readonly calls: readonly CollectionCall[];
}

export interface CollectionCall {
  /** Which of three tensors `x` is; null for a new one. */
  readonly x: number | null;
  /** Which of four objects the arguments `a`, `b`, `c` and the property `o.k` are. */
  readonly objects: readonly [number, number, number, number];
}

const object = fc.constantFrom('a', 'b', 'c', 'o.k', 'kept.k');
const weakKey = fc.constantFrom('a', 'b', 'c', 'x');
const key = fc.oneof(object, fc.constantFrom('x', 'y'));
const sum = fc.integer({ min: 0, max: 12 });

/** A statement with keys for its placeholders. */
const statement = (text: string): fc.Arbitrary<string> =>
  fc
    .array(key, { minLength: 3, maxLength: 3 })
    .chain(([one, two, three]) =>
      fc
        .tuple(weakKey, sum)
        .map(([weak, number]) =>
          text
            .replaceAll('$1', one!)
            .replaceAll('$2', two!)
            .replaceAll('$3', three!)
            .replaceAll('$weak', weak)
            .replaceAll('$n', String(number)),
        ),
    );

const statements = fc.oneof(
  ...[
    'map.set($1, x.mul($n));',
    'map.set($1, $2);',
    'seen.push(map.has($1));',
    'map.delete($1);',
    'seen.push(map.delete($1));',
    '{ const v = map.get($1); if (v instanceof Tensor) y = y.add(v); else seen.push(v === $2); }',
    '{ const v = map.get($1); map.delete($1); map.set($1, v); }',
    'if (map.has($1)) y = y.add(1); else map.set($2, x);',
    'for (const [k, v] of map) { seen.push(k === $1); if (v instanceof Tensor) y = y.add(v); }',
    'seen.push(map.size, [...map.keys()].length);',
    'map.clear();',
    'set.add($1);',
    'seen.push(set.has($1), set.size);',
    'set.delete($1);',
    'for (const k of set) seen.push(k === $1);',
    'set.forEach((k) => { seen.push(k === $1); });',
    'for (const k of [...set]) if (k === $1) set.delete(k);',
    'seen.push([...set].indexOf($1));',
    'kept.k = $1;',
    'weak.set($weak, x.add($n));',
    '{ const v = weak.get($weak); if (v) y = y.add(v); }',
    'seen.push(weak.has($weak));',
    '{ const own = new Map([[$1, 1], [$2, 2], [$3, 3]]); seen.push(own.size, own.get($1)); }',
    '{ const own = new Set([$1, $2]); seen.push(own.size, own.has($3)); }',
    '{ const copy = new Map(map); copy.delete($1); seen.push(copy.size, copy.has($2)); }',
    'seen.push($1 === $2);',
    'y = y.mul(2);',
    'if (x.sum().itemSync() > $n) map.set($1, y); else set.add($2);',
    'if (x.sum().gt($n).itemSync()) set.delete($1);',
  ].map(statement),
);

const at = fc.integer({ min: 0, max: 3 });

export const collectionPrograms: fc.Arbitrary<CollectionProgram> = fc.record({
  statements: fc.array(statements, { minLength: 3, maxLength: 8 }),
  calls: fc.array(
    fc.record({
      x: fc.option(fc.integer({ min: 0, max: 2 })),
      objects: fc.tuple(at, at, at, at),
    }),
    { minLength: 10, maxLength: 10 },
  ),
});

export const collectionText = ({ statements: lines }: CollectionProgram): string => `
return (x, a, b, c, o) => {
  let y = x.add(0);
  const seen = [];
  ${lines.join('\n  ')}
  return [y, seen];
};`;
