/** Converts between paths, including those of Windows, and URLs: stacks and source maps use both. */

/** Returns the path of a file URL, or any other name unchanged. */
export function filePath(name: string): string {
  if (!name.startsWith('file://')) return name;
  try {
    const path = decodeURIComponent(name.slice(7));
    return /^\/\w:/.test(path) ? path.slice(1).replaceAll('/', '\\') : path;
  } catch {
    return name; // its percent signs are not escapes
  }
}

/** Returns the URL of a file that is named by URL or by an absolute path. */
export const fileUrl = (name: string): string =>
  /^\w[\w+.-]+:/.test(name) ? name : `file://${name.replace(/[%#?]/g, encodeURIComponent)}`;
