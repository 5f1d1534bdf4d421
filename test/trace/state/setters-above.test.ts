// biome-ignore-all lint/complexity/noThisInStatic: what it is there is tested.
/** What objects that captured code makes inherit changes between calls, so that assigning to them means something else. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';
import { expectOneGraph } from '../language/every-mode.ts';
import { weights } from '../same-as-eager.ts';
import { describeValues } from '../snapshot.ts';

class Base {
  declare assigned: unknown;
  declare static assigned: unknown;
}
class Assigning extends Base {
  constructor(value: unknown) {
    super();
    this.assigned = value;
  }
}
class Plain extends Base {
  /** `super.assigned = value` */
  above(value: unknown): void {
    (super['assigned' as never] as unknown) = value;
  }
  static above(value: unknown): void {
    (super['assigned' as never] as unknown) = value;
  }
}
class List extends Array<number> {
  declare assigned: unknown;
}
const template: { assigned?: unknown } = Object.create(Base.prototype);

type Held = { assigned?: unknown };

/** Functions that make an object and assign to it. */
const programs: Readonly<Record<string, (value: unknown) => Held>> = {
  'this in a constructor': (value) => new Assigning(value),
  'an instance': (value) => Object.assign(new Plain(), { assigned: value }),
  'an instance, by its name': (value) => {
    const made = new Plain();
    made.assigned = value;
    return made;
  },
  'super in a method': (value) => {
    const made = new Plain();
    made.above(value);
    return made;
  },
  'an object literal': (value) => {
    const made: Held = {};
    made.assigned = value;
    return made;
  },
  'Object.create': (value) => {
    const made: Held = Object.create(template);
    made.assigned = value;
    return made;
  },
  'an instance of an array class': (value) => {
    const made = new List();
    made.assigned = value;
    return made;
  },
  'an error': (value) => {
    const made: Error & Held = new RangeError('made');
    made.assigned = value;
    return made;
  },
  'an instance of a class made inside': (value) => {
    class Inner extends Base {}
    const made = new Inner();
    made.assigned = value;
    return { own: made.assigned, is: Object.hasOwn(made, 'assigned') } as Held;
  },
  'a class made inside': (value) => {
    class Inner {
      declare static assigned: unknown;
    }
    Inner.assigned = value;
    return { own: Inner.assigned, is: Object.hasOwn(Inner, 'assigned') } as Held;
  },
  'super in a static method of a class made inside': (value) => {
    class Inner extends Base {
      static above(): void {
        (super['assigned' as never] as unknown) = value;
      }
    }
    Inner.above();
    return { own: Inner.assigned, is: Object.hasOwn(Inner, 'assigned') } as Held;
  },
  'super in a static method': (value) => {
    Plain.above(value);
    const is = Object.hasOwn(Plain, 'assigned');
    const own = Plain.assigned;
    delete (Plain as Held).assigned;
    return { own, is } as Held;
  },
};

/** What the object of a program inherits from, besides `Object.prototype`. */
const above: readonly (readonly [of: RegExp, holder: string, object: object])[] = [
  [/this|an instance|super in a method|create/, 'the prototype of a class', Base.prototype],
  [/array class/, 'Array.prototype', Array.prototype],
  [/error/, 'Error.prototype', Error.prototype],
  [/static/, 'a class', Base],
  [/a class made|static/, 'Function.prototype', Function.prototype],
  [/./, 'Object.prototype', Object.prototype],
];

const log: unknown[] = [];
const changes: Readonly<Record<string, PropertyDescriptor>> = {
  'a setter': {
    set(value: unknown) {
      log.push(value);
    },
  },
  'a getter alone': { get: () => 5 },
  'a value that is read-only': { value: 5 },
};

function outcome(fn: (x: Tensor) => unknown): unknown {
  log.length = 0;
  try {
    return describeValues([fn(tensor([1, 2])), ...log]);
  } catch (error) {
    // The engine describes the object in its message.
    return [(error as Error).name, ...log];
  }
}

const cases = Object.keys(programs).flatMap((name) =>
  above
    .filter(([of]) => of.test(name))
    .flatMap(([, holder, object]) =>
      Object.keys(changes).map((change) => ({ name, holder, object, change })),
    ),
);

it.each(cases)('$name: $holder gets $change', ({ name, object, change }) => {
  const fn = (x: Tensor) => {
    const made = programs[name]!(x.mul(2));
    return [made, made.assigned, Object.keys(made)];
  };
  const captured = toStatic(fn);
  for (const isChanged of [false, true, false, true]) {
    const run = () => [outcome(fn), outcome(captured)];
    const [expected, found] = isChanged ? whileDefined(object, changes[change]!, run) : run();
    expect(found, isChanged ? 'changed' : 'as it was').toEqual(expected);
  }
});

function whileDefined<T>(holder: object, descriptor: PropertyDescriptor, body: () => T): T {
  Object.defineProperty(holder, 'assigned', { ...descriptor, configurable: true });
  try {
    return body();
  } finally {
    Reflect.deleteProperty(holder, 'assigned');
  }
}

it('an assignment to super in a static method stays in the graph', () => {
  expectOneGraph(() => ({
    fn: (x: Tensor) => programs['super in a static method of a class made inside']!(x.mul(2)),
    args: () => [weights([3])],
  }));
});
