/**
 * Code after a captured call, or after a graph break in it, may change what the function of a `checkpoint` call reads.
 * Eager backward runs that function again and reads the new value; a program has computed with the old one.
 */

import { it } from 'vitest';
import { checkpoint, nn, type Tensor } from '../../../src/index.ts';
import { type Case, compareCase, width } from './changed-reads.ts';

/** Ends the graph. */
const opaque = new Proxy((..._: unknown[]) => {}, {});

let shared = 2;

const cases: Readonly<Record<string, Case>> = {
  'another property is changed': {
    differs: false,
    fn: (state) => (x) => {
      state.calls++;
      return checkpoint(state.block, x);
    },
    between: (state) => {
      state.calls = 7;
    },
  },
  'a tensor is replaced': {
    differs: true,
    fn:
      ({ block }) =>
      (x) =>
        checkpoint(block, x),
    between: (state) => {
      state.w = state.v;
    },
  },
  'a number is changed': {
    differs: true,
    fn:
      ({ block }) =>
      (x) =>
        checkpoint(block, x),
    between: (state) => {
      state.scale = 3;
    },
  },
  'a number that the call itself sets is changed again': {
    differs: true,
    fn: (state) => (x) => {
      state.scale = 5;
      return checkpoint(state.block, x);
    },
    between: (state) => {
      state.scale = 3;
    },
  },
  'a variable of a module is assigned': {
    differs: true,
    before: () => {
      shared = 2;
    },
    fn: (state) => (x) => checkpoint((a: Tensor) => a.matmul(state.w).mul(shared).tanh(), x),
    between: () => {
      shared++;
    },
  },
  'a weight is frozen': {
    differs: true,
    fn:
      ({ block }) =>
      (x) =>
        checkpoint(block, x),
    between: ({ w }) => {
      w.requiresGrad_(false);
    },
  },
  'an element is replaced': {
    differs: true,
    fn:
      ({ weights }) =>
      (x) =>
        checkpoint((a: Tensor) => a.matmul(weights[0]!).tanh(), x),
    between: ({ weights, v }) => {
      weights[0] = v;
    },
  },
  'a property is added to an object whose keys are counted': {
    differs: true,
    fn:
      ({ w, options }) =>
      (x) =>
        checkpoint((a: Tensor) => a.matmul(w).mul(Object.keys(options).length).tanh(), x),
    between: ({ options }) => {
      options[`key${Object.keys(options).length}`] = 1;
    },
  },
  'an entry is added to a Map that is listed': {
    differs: true,
    fn:
      ({ named }) =>
      (x) =>
        checkpoint((a: Tensor) => [...named.values()].reduce((y, w) => y.matmul(w), a).tanh(), x),
    between: ({ named, v }) => {
      named.set(`w${named.size}`, v);
    },
  },
  'an entry of a Map is replaced': {
    differs: true,
    fn:
      ({ named }) =>
      (x) =>
        checkpoint((a: Tensor) => a.matmul(named.get('w')!).tanh(), x),
    between: ({ named, v }) => {
      named.set('w', v);
    },
  },
  'a layer is replaced that the function reads': {
    differs: true,
    fn: (state) => (x) => checkpoint((a: Tensor) => state.layer.forward(a).tanh(), x),
    between: (state) => {
      state.layer = new nn.Linear(width, width);
    },
  },
  'a layer is replaced that the function has received': {
    differs: false,
    fn: (state) => (x) => {
      const { layer } = state;
      return checkpoint((a: Tensor) => layer.forward(a).tanh(), x);
    },
    between: (state) => {
      state.layer = new nn.Linear(width, width);
    },
  },
  'a variable is assigned behind a graph break': {
    differs: true,
    fn: (state) => (x) => {
      let scale = 2;
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(scale).tanh(), x);
      opaque();
      scale = 3;
      return y;
    },
  },
  'a variable is assigned its value behind a graph break': {
    differs: false,
    fn: (state) => (x) => {
      let scale = 2;
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(scale).tanh(), x);
      opaque();
      scale = 2;
      return y;
    },
  },
  'a property of an object of the call is changed behind a graph break': {
    differs: true,
    fn: (state) => (x) => {
      const own = { scale: 2, calls: 0 };
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(own.scale).tanh(), x);
      opaque(own);
      own.scale++;
      return y;
    },
  },
  'another property of it is changed': {
    differs: false,
    fn: (state) => (x) => {
      const own = { scale: 2, calls: 0 };
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(own.scale).tanh(), x);
      opaque(own);
      own.calls++;
      return y;
    },
  },
  'a list of the call is changed behind a graph break': {
    differs: true,
    fn: (state) => (x) => {
      const scales = [2, 3];
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(scales[0]!).tanh(), x);
      opaque(scales);
      scales[0] = 3;
      return y;
    },
  },
  'an object of the call is changed after it': {
    differs: true,
    fn: (state) => (x) => {
      const own = { w: state.w };
      state.own = own;
      return checkpoint((a: Tensor) => a.matmul(own.w).tanh(), x);
    },
    between: ({ own, v }) => {
      own!.w = v;
    },
  },
  'only another result is differentiated': {
    differs: false,
    fn: (state) => (x) => {
      state.own = { w: checkpoint(state.block, x) };
      return x.matmul(state.v).tanh();
    },
    between: (state) => {
      state.scale = 3;
    },
  },
  'what an iteration reads is changed': {
    differs: true,
    fn:
      ({ block }) =>
      (x) => {
        let y = x;
        for (let i = 0; i < 3 && y.abs().sum().itemSync() > 1e-9; i++) y = checkpoint(block, y);
        return y;
      },
    between: (state) => {
      state.scale = 3;
    },
  },
};

it.each(Object.entries(cases))('%s', (_name, each) => compareCase(each));
