import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ownTexts = join(import.meta.dirname, 'license-texts');

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
}

/**
 * Writes the licences of the packages whose modules were bundled.
 *
 * @param files bundled modules, and other shipped files.
 * @throws Error if a package has no licence text.
 */
export function writeLicenses(files: Iterable<string>, target: string): void {
  const folders = new Set([...files].map(packageFolderOf).filter((folder) => folder !== undefined));
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as Manifest;
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    // For packages published without their licence text.
    const path = file ? join(folder, file) : join(ownTexts, `${name?.replace('/', '-')}.txt`);
    if (!existsSync(path) || !license) throw new Error(`${name} has no licence text in ${folder}`);
    const text = readFileSync(path, 'utf8').trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  const title = 'The published files contain code of these packages.\n\n';
  writeFileSync(target, title + texts.join(`\n${'-'.repeat(80)}\n\n`));
}

function packageFolderOf(file: string): string | undefined {
  if (!file.includes('/node_modules/')) return undefined;
  let folder = dirname(file);
  // A folder inside a package may have a manifest that only states its module type.
  for (; folder.includes('/node_modules/'); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && (JSON.parse(readFileSync(manifest, 'utf8')) as Manifest).name) {
      return folder;
    }
  }
  throw new Error(`${file} belongs to no package`);
}
