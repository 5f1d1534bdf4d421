/** Maps, Sets and the keys of objects, created inside and pre-existing, that branches and loops of a program change. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import type { Never } from '../paths-taken.ts';
import { sameAsEager } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();

interface World {
  readonly counts: Map<string, number>;
  readonly kept: Map<string, Tensor>;
  readonly seen: Set<unknown>;
  readonly fields: Record<string, unknown>;
}

/** No iteration of the loops below, one, some; one branch and the other. */
const inputs = [
  [40, 50],
  [8, 9],
  [0.5, 0.25],
  [-3, 1],
].map((start) => () => {
  const world: World = {
    counts: new Map([
      ['a', 1],
      ['b', 2],
    ]),
    kept: new Map([['first', tensor([3, 4])]]),
    seen: new Set([1, 'two']),
    fields: { a: 1, b: 2, c: 3 },
  };
  return [x(...start), world];
});

const member = { name: 'a member' };

const world = (f: (x: Tensor, world: World) => unknown, never: readonly Never[] = []) =>
  sameAsEager(f, inputs, { never });

const asked = 'the iteration itself asks whether there is one';

describe('a pre-existing Map', () => {
  it('counts in a loop, and keeps the last tensor', () => {
    world(
      (x, { counts, kept }) => {
        let y = x;
        while (y.sum().itemSync() < 60 && (counts.get('turns') ?? 0) < 9) {
          counts.set('turns', (counts.get('turns') ?? 0) + 1);
          counts.set('a', counts.get('a')! * 2);
          kept.set('last', y);
          y = y.mul(2);
        }
        return [y, kept.get('last') ?? x];
      },
      [['no iteration', 'y.sum()', asked]],
    );
  });

  it('gets an entry in a branch, and is the same Map', () => {
    world((x, { counts, kept }) => {
      if (x.sum().itemSync() > 10) {
        if (kept.set('large', x.mul(2)) !== kept) throw new Error('another Map');
      } else counts.set('a', 7).set('small', 1);
      return [counts, counts.size, counts.has('small'), kept.get('large') ?? 'none'];
    });
  });

  it('loses entries: one of them, all', () => {
    world((x, { counts, kept }) => {
      const sum = x.sum().itemSync();
      let had = false;
      if (sum > 10) had = counts.delete('a');
      else if (sum > 0) counts.clear();
      else had = counts.delete('nobody');
      kept.set('after', x);
      return [had, counts.size, counts.get('a') ?? 0, [...kept.keys()].join()];
    });
  });

  it('has its keys in the order of the path that was taken', () => {
    world((x, { counts }) => {
      if (x.sum().itemSync() > 10) {
        counts.delete('a');
        counts.set('a', 3);
      } else counts.set('c', 3);
      counts.set('d', 4);
      let text = '';
      for (const key of counts.keys()) text += key;
      return text;
    });
  });

  it('moves what was read to its end, iteration by iteration', () => {
    world(
      (x, { counts }) => {
        let y = x;
        for (let turn = 0; y.sum().itemSync() < 60 && turn < 9; turn++) {
          const read = counts.get('a')!;
          counts.delete('a');
          counts.set('a', read + 1);
          y = y.mul(2);
        }
        return y;
      },
      [['no iteration', 'y.sum()', asked]],
    );
  });

  it('holds structures, and other things on other paths', () => {
    world((x, { counts }) => {
      const found = counts as Map<string, unknown>;
      if (x.sum().itemSync() > 10) found.set('at', { sum: x.mul(2), n: 1 });
      else found.set('at', { sum: x.mul(3), n: 2 });
      if (x.max().itemSync() > 20) found.set('what', 'large');
      else found.set('what', [x.mul(4)]);
      const { sum } = found.get('at') as { sum: Tensor };
      return sum.mul(2);
    });
  });

  it('was changed before the branch, and is changed behind it', () => {
    world((x, { counts, seen }) => {
      counts.delete('a');
      counts.set('c', 1);
      counts.set('a', 5);
      if (x.sum().itemSync() > 10) counts.set('d', counts.get('a')!);
      counts.set('e', counts.get('d') ?? 0);
      seen.delete(1);
      if (x.sum().itemSync() > 0) seen.add(1);
      return x;
    });
  });

  it('is left as it was where a check fails', () => {
    const f = (x: Tensor, counts: Map<string, number>) => {
      if (x.sum().itemSync() > 0) counts.set('a', 1);
      if (x.isnan().any().itemSync()) throw new RangeError('not a number');
      counts.delete('b');
      return x;
    };
    const bad = () => [tensor([Number.NaN, 1]), new Map([['b', 1]])];
    sameAsEager(f, [
      bad,
      () => [tensor([1, 2]), new Map([['b', 1]])],
      () => [tensor([-1, 2]), new Map([['b', 1]])],
      () => [tensor([-1, -2]), new Map([['b', 1]])],
    ]);
  });

  it('with other keys is traced again', () => {
    const f = toStatic(
      (x: Tensor, counts: Map<string, number>) => {
        if (x.sum().itemSync() > 0) counts.set('a', (counts.get('a') ?? 0) + 1);
        return x;
      },
      { fullGraph: true },
    );
    tidy(() => {
      const [one, two] = [new Map([['b', 1]]), new Map([['a', 4]])];
      for (const counts of [one, two, one, two]) f(tensor([1, 2]), counts);
      expect([[...one], [...two]]).toEqual([
        [
          ['b', 1],
          ['a', 2],
        ],
        [['a', 6]],
      ]);
    });
    // For three sets of keys, and for a second number.
    expect(f.stats()).toMatchObject({ translations: 4, breaks: [] });
  });
});

describe('a pre-existing Set', () => {
  it('gets and loses members, objects among them', () => {
    world((x, { seen }) => {
      const sum = x.sum().itemSync();
      if (sum > 10) seen.add(member);
      else seen.delete(1);
      if (sum > 50) seen.add('large').add('two');
      return [seen.size, seen.has(member), seen.has('large')];
    });
  });

  it('is walked while members are taken out, and put in again', () => {
    world((x, { seen }) => {
      let steps = 0;
      for (const each of seen) {
        steps++;
        if (typeof each === 'number') seen.delete(each);
        else if (steps < 4) {
          seen.delete(each);
          seen.add(each);
        }
      }
      if (x.sum().itemSync() > 10) for (const each of seen) seen.delete(each);
      return [steps, seen.size];
    });
  });
});

describe('keys of a pre-existing object', () => {
  it('are deleted in a branch, and looked for behind it', () => {
    world((x, { fields }) => {
      if (x.sum().itemSync() > 10) delete fields.a;
      return ['a' in fields, fields.a ?? 'none', Object.keys(fields).join()];
    });
  });

  it('are deleted in a loop, and come back', () => {
    world(
      (x, { fields }) => {
        let y = x;
        while (y.sum().itemSync() < 60 && y.sum().itemSync() > 0) {
          delete fields.b;
          fields.turns = ((fields.turns as number | undefined) ?? 0) + 1;
          if (y.sum().itemSync() > 30) fields.b = y;
          y = y.mul(2);
        }
        return y;
      },
      [['no iteration', 'y.sum()', asked]],
    );
  });

  it('come in the order of the path that was taken', () => {
    world((x, { fields }) => {
      if (x.sum().itemSync() > 10) {
        fields.p = x.mul(2);
        fields.q = 2;
      } else {
        fields.q = 3;
        delete fields.b;
        fields.p = 'none';
        fields.b = 5;
      }
      fields.r = 1;
      return Object.keys(fields).length;
    });
  });

  it('that no path adds are not there', () => {
    world(
      (x, { fields }) => {
        if (x.sum().itemSync() > 1e6) fields.z = 1;
        return x;
      },
      [['first branch', 'x.sum()', 'no sum is so large']],
    );
  });
});

describe('what is made inside', () => {
  it('has its keys in the order of the path that was taken', () => {
    world((x) => {
      const map = new Map<string, unknown>([['a', x]]);
      const object: Record<string, unknown> = { a: 1, b: 2 };
      if (x.sum().itemSync() > 10) {
        map.delete('a');
        map.set('b', 2).set('a', x.mul(2));
        delete object.a;
        object.a = 2;
      } else map.set('c', 3);
      map.set('c', 4);
      return [map, object, { ...object }, [...map.keys()].join(), Object.keys(object).join()];
    });
  });

  it('counts in a loop, by keys that are added meanwhile', () => {
    world(
      (x) => {
        const counts = new Map<string, number>();
        let y = x;
        for (let turn = 0; y.sum().itemSync() < 60 && turn < 9; turn++) {
          const key = y.sum().itemSync() > 20 ? 'large' : 'small';
          counts.set(key, (counts.get(key) ?? 0) + 1);
          y = y.mul(2);
        }
        return [counts, counts.size];
      },
      [['no iteration', 'y.sum()', asked]],
    );
  });

  it('is walked in a Map whose members go away', () => {
    world((x) => {
      const map = new Map([
        ['a', 1],
        ['b', 20],
        ['c', 30],
      ]);
      const sum = x.sum().itemSync();
      for (const [key, least] of map) if (sum < least) map.delete(key);
      return [map, map.size];
    });
  });
});

describe('a tensor computed before a branch, as a key', () => {
  it.each<[string, (map: Map<unknown, unknown>, key: Tensor, isTaken: boolean) => void]>([
    ['is put in one branch', (map, key, isTaken) => void (isTaken && map.set(key, 5))],
    [
      'is put in one branch and another in the other',
      (map, key, isTaken) => {
        if (isTaken) map.set(key, 5);
        else map.set('other', 5);
      },
    ],
    [
      'is deleted in one branch',
      (map, key, isTaken) => {
        map.set(key, 5);
        if (isTaken) map.delete(key);
      },
    ],
  ])('%s: it is the key of a copy, too', (_, change) => {
    world((x) => {
      const key = x.mul(2);
      const map = new Map<unknown, unknown>();
      const isTaken = x.sum().itemSync() > 0;
      change(map, key, isTaken);
      const copy = new Map(map);
      const [size, has] = [copy.size, copy.has(key)];
      copy.delete(key);
      return [key, map.has(key), size, has, copy.size];
    });
  });
});

it('of a WeakMap the error says what can be changed instead', () => {
  const f = (x: Tensor, weak: WeakMap<object, number>) => {
    if (x.sum().itemSync() > 0) weak.set(weak, 1);
    return x;
  };
  const weak = new WeakMap<object, number>();
  expect(() => tidy(() => toStatic(f, { fullGraph: true })(tensor([1]), weak))).toThrow(
    /a branch or loop changes a pre-existing WeakMap; a Map or Set can be changed there/,
  );
  expect(weak.has(weak)).toBe(false);
});
