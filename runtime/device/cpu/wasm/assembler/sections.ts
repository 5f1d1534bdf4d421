/** Parts of a WebAssembly module in their binary form. */

import { unsigned } from './code.ts';

export const text = (value: string): number[] => {
  const bytes = [...new TextEncoder().encode(value)];
  return [...unsigned(bytes.length), ...bytes];
};

export const vector = (items: readonly (readonly number[])[]): number[] =>
  unsigned(items.length).concat(...items);

export const section = (id: number, content: readonly number[]): number[] => [
  id,
  ...unsigned(content.length),
  ...content,
];
