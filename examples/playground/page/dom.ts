/** Returns the page's element with this id. Throws if `index.html` has none of this kind. */
export function byId<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new TypeError(`index.html has no ${kind.name} #${id}`);
}

type Attributes = Readonly<Record<string, string>>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const numbers = new Intl.NumberFormat('en');

/** 3,047,424 B below 10 KiB, else 297.6 KiB or 2.91 MiB. */
export function shownBytes(bytes: number): string {
  if (bytes < 10 * 1024) return `${numbers.format(bytes)} B`;
  const [unit, size] = bytes < 2 ** 21 ? ['KiB', 2 ** 10] : ['MiB', 2 ** 20];
  return `${(bytes / (size as number)).toFixed(unit === 'MiB' ? 2 : 1)} ${unit}`;
}

export function shownTime(milliseconds: number): string {
  return `${milliseconds < 10 ? milliseconds.toFixed(2) : milliseconds.toFixed(1)} ms`;
}

export const shownCount = (count: number, noun: string): string =>
  `${numbers.format(count)} ${noun}${count === 1 ? '' : 's'}`;
