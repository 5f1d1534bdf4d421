/** The function of a `checkpoint` call reads what the captured call has changed or created, and code after it changes that. */

import { it } from 'vitest';
import { checkpoint, type Tensor } from '../../../src/index.ts';
import { type Case, compareCase } from './changed-reads.ts';

const cases: Readonly<Record<string, Case>> = {
  'an element that the call appends is replaced': {
    differs: true,
    fn: (state) => (x) => {
      state.pushed.push(state.w);
      return checkpoint((a: Tensor) => a.matmul(state.pushed.at(-1)!).tanh(), x);
    },
    between: ({ pushed, v }) => {
      pushed[pushed.length - 1] = v;
    },
  },
  'an entry that the call sets is replaced': {
    differs: true,
    fn:
      ({ named, w }) =>
      (x) => {
        named.set('set', w);
        return checkpoint((a: Tensor) => a.matmul(named.get('set')!).tanh(), x);
      },
    between: ({ named, v }) => {
      named.set('set', v);
    },
  },
  'an entry that the call sets is deleted': {
    differs: true,
    fn:
      ({ named, w }) =>
      (x) => {
        named.set('set', w);
        return checkpoint(
          (a: Tensor) =>
            a
              .matmul(w)
              .mul(named.has('set') ? 2 : 3)
              .tanh(),
          x,
        );
      },
    between: ({ named }) => {
      named.delete('set');
    },
  },
  'an element of a list that the call assigns is replaced': {
    differs: true,
    fn: (state) => (x) => {
      state.list = [state.w];
      return checkpoint((a: Tensor) => a.matmul(state.list[0]!).tanh(), x);
    },
    between: ({ list, v }) => {
      list[0] = v;
    },
  },
  'an element of a list in a Map of the call is replaced': {
    differs: true,
    fn: (state) => (x) => {
      const lists = new Map([['k', [state.w]]]);
      state.lists = lists;
      return checkpoint((a: Tensor) => a.matmul(lists.get('k')![0]!).tanh(), x);
    },
    between: ({ lists, v }) => {
      lists.get('k')![0] = v;
    },
  },
  'a property that an object of the call lacks is added': {
    differs: true,
    fn: (state) => (x) => {
      const flags: Record<string, number> = {};
      state.flags = flags;
      return checkpoint(
        (a: Tensor) =>
          a
            .matmul(state.w)
            .mul(flags.more ? 2 : 3)
            .tanh(),
        x,
      );
    },
    between: ({ flags }) => {
      flags.more = 1;
    },
  },
  'a key that an object of the call lacks is added': {
    differs: true,
    fn: (state) => (x) => {
      const flags: Record<string, number> = {};
      state.flags = flags;
      return checkpoint(
        (a: Tensor) =>
          a
            .matmul(state.w)
            .mul('more' in flags ? 2 : 3)
            .tanh(),
        x,
      );
    },
    between: ({ flags }) => {
      flags.more = 1;
    },
  },
  'an object of the call whose keys are counted gets another': {
    differs: true,
    fn: (state) => (x) => {
      const flags: Record<string, number> = { one: 1 };
      state.flags = flags;
      const count = () => Object.keys(flags).length;
      return checkpoint((a: Tensor) => a.matmul(state.w).mul(count()).tanh(), x);
    },
    between: ({ flags }) => {
      flags.more = 1;
    },
  },
  'an entry under a key that changes': {
    differs: false,
    fn: (state) => (x) => {
      const key = state.calls++ % 2 === 0 ? 'w' : 'v';
      return checkpoint((a: Tensor) => a.matmul(state.named.get(key)!).tanh(), x);
    },
    between: ({ named, v }) => {
      named.set('other', v);
    },
  },
  'the getter of an object of the call is not run': {
    differs: false,
    fn: (state) => (x) => {
      const held = {
        get more() {
          state.calls++;
          return {};
        },
      };
      state.held = held;
      return checkpoint(
        (a: Tensor) =>
          a
            .matmul(state.w)
            .mul('more' in held ? 2 : 3)
            .tanh(),
        x,
      );
    },
  },
  'a WeakMap of the call is read': {
    differs: false,
    fn: (state) => (x) => {
      const weak = new WeakMap<object, Tensor>([[state.layer, state.w]]);
      state.weak = weak;
      return checkpoint((a: Tensor) => a.matmul(weak.get(state.layer)!).tanh(), x);
    },
  },
};

it.each(Object.entries(cases))('%s', (_name, each) => compareCase(each));
