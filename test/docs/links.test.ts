/** Links between pages of the documentation lead to files, and their anchors to headings. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const docs = readdirSync(join(root, 'docs')).map((name) => join(root, 'docs', name));
const pages = [join(root, 'README.md'), join(root, 'CONTRIBUTING.md'), ...docs];

const withoutCode = (page: string): string =>
  readFileSync(page, 'utf8').replace(/^```.*?^```/gms, '');

/** The anchors that GitHub gives the headings of a page. */
const anchorsOf = (page: string): string[] =>
  Array.from(withoutCode(page).matchAll(/^#+ (.*)$/gm), ([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\-_ ]/gu, '')
      .replaceAll(' ', '-'),
  );

const links = pages.flatMap((page) =>
  Array.from(
    withoutCode(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g),
    ([link, path, anchor]) => {
      const target = path ? resolve(dirname(page), path) : page;
      return { from: `${relative(root, page)}: ${link}`, target, anchor };
    },
  ),
);

it('leads to files that exist', () => {
  expect(links.length).toBeGreaterThan(80);
  expect(links.filter(({ target }) => !existsSync(target)).map(({ from }) => from)).toEqual([]);
});

it('leads to headings that exist', () => {
  const anchored = links.filter(({ anchor }) => anchor !== undefined);
  expect(anchored.length).toBeGreaterThan(10);
  const broken = anchored.filter(({ target, anchor }) => !anchorsOf(target).includes(anchor!));
  expect(broken.map(({ from }) => from)).toEqual([]);
});

it('leads from the README to every page', () => {
  const [readme] = pages;
  const linked = links.filter(({ from }) => from.startsWith(relative(root, readme!)));
  const targets = new Set(linked.map(({ target }) => target));
  expect(docs.filter((page) => !targets.has(page))).toEqual([]);
});
