import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { captureFunction, findHomeObject } from '../../src/1-capture/capture.ts';
import { captured, refused } from './captured.ts';

let counter = 1;
const fixed = { value: 1 };
const assignedOnce = 5;
let declaredOnly: number | undefined;
var once = 7;
function helper(x: number) {
  return x + counter;
}
class Thing {}
const bump = () => {
  counter++;
  declaredOnly = 1;
};

function useAll(x: number) {
  return [
    x,
    counter,
    fixed,
    assignedOnce,
    declaredOnly,
    once,
    helper,
    Thing,
    join,
    Math,
    undefined,
  ];
}

describe('scope', () => {
  test('reads are live', () => {
    const { scope } = captured(() => counter);
    const read = scope.reader('counter');
    const before = counter;
    expect([scope.get('counter'), read()]).toEqual([before, before]);
    bump();
    expect([scope.get('counter'), read()]).toEqual([before + 1, before + 1]);
  });

  test('writes go to the variable', () => {
    const { scope } = captured(() => counter);
    scope.set('counter', 42);
    expect(counter).toBe(42);
    expect(() => captured(useAll).scope.set('fixed', 1)).toThrow(TypeError);
  });

  test('names without a variable', () => {
    const { scope } = captured(useAll);
    expect(scope.has('counter')).toBe(true);
    expect(scope.has('nowhere')).toBe(false);
    expect(() => scope.get('nowhere')).toThrow(new ReferenceError('nowhere is not defined'));
    expect(() => scope.set('nowhere', 1)).toThrow(ReferenceError);
    expect('nowhere' in globalThis).toBe(false);
  });

  test('globals are found last', () => {
    const { scope } = captured(useAll);
    expect(scope.get('Math')).toBe(Math);
    expect(scope.has('undefined')).toBe(true);
    expect(scope.has('globalThis')).toBe(true);
  });

  test('a variable before its initialisation throws what the code would throw', () => {
    const f = () => [late, laterVar];
    const { scope } = captured(f);
    const message = "Cannot access 'late' before initialization";
    expect(() => scope.get('late')).toThrow(new ReferenceError(message));
    expect(scope.has('late')).toBe(true);
    expect(scope.isConstant('late')).toBe(false);
    expect(scope.isConstant('laterVar')).toBe(false);
    const late = 3;
    var laterVar = 4;
    expect(scope.get('late')).toBe(3);
    expect([scope.isConstant('late'), scope.isConstant('laterVar')]).toEqual([true, true]);
  });

  test('constant are names that the script never assigns again', () => {
    const { scope, freeNames } = captured(useAll);
    const constant = freeNames.filter((name) => scope.isConstant(name));
    const imported = freeNames.filter((name) => name.startsWith('__vite_ssr_import'));
    expect(imported).toHaveLength(1);
    expect(constant.sort()).toEqual(
      ['Thing', 'assignedOnce', 'fixed', 'helper', 'once', 'undefined', ...imported].sort(),
    );
    expect(useAll(1)).toHaveLength(11);
  });

  test('imports are read through the namespace that the test runner makes', () => {
    const { scope, freeNames } = captured(() => join('a', 'b'));
    expect((scope.get(freeNames[0] ?? '') as { join: unknown }).join).toBe(join);
  });

  test('closures of one place share the node and not the scope', () => {
    const make = (value: number) => () => value;
    const [one, two] = [captured(make(1)), captured(make(2))];
    expect(one.syntax().node).toBe(two.syntax().node);
    expect(one.source).toBe(two.source);
    expect([one.scope.get('value'), two.scope.get('value')]).toEqual([1, 2]);
    const f = make(3);
    expect(captureFunction(f)).toBe(captureFunction(f));
  });

  test('per-iteration variables', () => {
    const made: (() => number)[] = [];
    for (let i = 0; i < 3; i++) made.push(() => i);
    expect(made.map((f) => captured(f).scope.get('i'))).toEqual([0, 1, 2]);
    expect(captured(made[0] as () => number).scope.isConstant('i')).toBe(false);
  });

  test('the evaluator sits behind parameters and locals, which are not free', () => {
    const x = 'outer';
    const g = (y = x) => [y, x];
    expect(captured(g).scope.get('x')).toBe('outer');
    expect(captured(g).freeNames).toEqual(['x']);
  });

  test('a constant outer name that a block hides', () => {
    const hidden = { outer: true };
    function f() {
      {
        const hidden = Math.random();
        if (hidden > 2) return hidden;
      }
      return hidden;
    }
    expect(captured(f).scope.get('hidden')).toBe(hidden);
  });

  test('a changing outer name that a block hides after the entry', () => {
    let count = 1;
    const functions = [
      function later(x: number) {
        const outer = count;
        for (let count = 0; count < 2; count++) x += count;
        return outer + x;
      },
      function inCases(x: number) {
        switch (Math.abs(count)) {
          case 1: {
            const count = x;
            return count;
          }
          default:
            return x;
        }
      },
      function inBranch(x: number) {
        if (Math.abs(count) > 5) {
          const count = x;
          return count;
        }
        return count;
      },
      function withDefault(x = count) {
        while (x > Math.abs(count)) {
          const count = 1;
          x -= count;
        }
        return x;
      },
      function caught() {
        count;
        try {
          return count;
        } catch (count) {
          return count;
        }
      },
    ];
    count++;
    const scopes = functions.map((each) => captured(each).scope);
    for (const scope of scopes) {
      expect(scope.get('count')).toBe(count);
      scope.set('count', count + 1);
      expect(scope.get('count')).toBe(count);
    }
    expect(count).toBe(2 + functions.length);
  });

  test('a changing outer name that a block hides at the entry is refused', () => {
    let hidden = 0;
    const functions = [
      function block() {
        {
          const hidden = Math.random();
          if (hidden > 2) return hidden;
        }
        return hidden;
      },
      function loop() {
        for (let hidden = 0; hidden < 1; hidden++) Math.random();
        return hidden;
      },
      function each() {
        for (const hidden of [1]) Math.abs(hidden);
        return hidden;
      },
      function repeated() {
        do {
          const hidden = Math.random();
          if (hidden > 2) return hidden;
        } while (Math.random() > 2);
        return hidden;
      },
    ];
    hidden++;
    for (const each of functions) {
      expect(refused(each)).toMatchObject({ reason: 'shadowed-name', names: ['hidden'] });
    }
  });
});

describe('this, super, private names', () => {
  test('arrows have the `this` of their place', () => {
    class Owner {
      arrow = () => this;
      plain = () => counter;
    }
    const owner = new Owner();
    expect(captured(owner.arrow).thisValue).toEqual({ value: owner });
    expect(captured(owner.plain).thisValue).toBeUndefined();
  });

  test('methods know their home object by the name of their class', () => {
    class Parent {
      hello() {
        return 'parent';
      }
    }
    class Child extends Parent {
      override hello() {
        return super.hello();
      }
      static create() {
        // biome-ignore lint/complexity/noThisInStatic: `super` in a static method is the point
        return [Child, super.name];
      }
    }
    expect(captured(Child.prototype.hello).homeObject).toBe(Child.prototype);
    expect(captured(Child.create).homeObject).toBe(Child);
    expect(captured(Parent.prototype.hello).homeObject).toBeUndefined();
  });

  test('other home objects are found through the receiver', () => {
    const home = {
      hello() {
        return super.toString();
      },
    };
    expect(captured(home.hello).kind).toBe('method');
    expect(findHomeObject(home.hello, Object.create(home))).toBe(home);
    expect(findHomeObject(home.hello, {})).toBeUndefined();
  });

  test('private names', () => {
    class Secret {
      #value = 1;
      #twice() {
        return this.#value * 2;
      }
      read() {
        return [this.#value, this.#twice()];
      }
    }
    const secret = new Secret();
    const { privateName } = captured(secret.read);
    const value = privateName?.('value');
    value?.set(secret, 5);
    expect([value?.get(secret), value?.has(secret), value?.has({})]).toEqual([5, true, false]);
    expect(secret.read()).toEqual([5, 10]);
    expect(() => value?.get({})).toThrow(TypeError);
  });

  test('kinds', () => {
    class A {
      m() {}
    }
    class Empty extends A {}
    expect(captured(A)).toMatchObject({ kind: 'constructor', strict: true });
    const empty = captured(Empty);
    expect(empty.syntax().node.params).toHaveLength(1);
    expect(empty.syntax().classNode?.id?.name).toBe('Empty');
    expect(captured(() => 1).kind).toBe('arrow');
    expect(captured(A.prototype.m).kind).toBe('method');
    expect(captured(helper).kind).toBe('function');
  });

  test('constructors list the names of their fields', () => {
    class WithField {
      field = [fixed, () => counter];
    }
    expect(captured(WithField).freeNames).toEqual(['fixed', 'counter']);
    expect(captured(WithField).scope.get('fixed')).toBe(fixed);
  });

  test('bound functions', () => {
    function target(this: unknown, ...args: number[]) {
      return [this, counter, ...args];
    }
    const self = { self: true };
    const bound = captured(target.bind(self, 1).bind({}, 2, 3));
    expect(bound.fn).toBe(target);
    expect(bound.bound).toEqual({ thisValue: self, args: [1, 2, 3] });
    expect(bound.bound?.thisValue).toBe(self);
    expect(captured(target.bind(Symbol.iterator, -0, 1n as never)).bound).toEqual({
      thisValue: Symbol.iterator,
      args: [-0, 1n],
    });
    expect(refused(Math.max.bind(null, 1)).reason).toBe('native');
  });
});

test('scope/a variable may have the name that the writer uses', () => {
  let __value = 1;
  captured(() => __value++).scope.set('__value', 5);
  expect(__value).toBe(5);
});

test('scope/a function expression knows its own name', () => {
  const f = function self(): unknown {
    return [self, counter];
  };
  expect(captured(f).scope.get('self')).toBe(f);
  expect(captured(f).scope.isConstant('self')).toBe(true);
});

test('scope/functions without a file', () => {
  const made = new Function('a', 'b = counterGlobal', 'return a + b + Math.PI');
  expect(captured(made).strict).toBe(false);
  expect(captured(made).scope.has('counterGlobal')).toBe(false);
  expect(captured(made).syntax().node.params).toHaveLength(2);
  // biome-ignore lint/security/noGlobalEval: functions made by eval are under test
  const evaluated = globalThis.eval(
    '\n let secret = 8; var shared = 9; (function (x) { return [x, secret, shared] })',
  );
  const { scope, syntax } = captured(evaluated as () => void);
  expect(syntax().node.params).toHaveLength(1);
  expect([scope.get('secret'), scope.get('shared')]).toEqual([8, 9]);
  expect(scope.isConstant('shared')).toBe(false);
  Reflect.deleteProperty(globalThis, 'shared');
});
