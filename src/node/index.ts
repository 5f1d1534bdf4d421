/**
 * The package in Node: everything that a page has, a cache in files (`TOSTATIC_CACHE`), scripts read from their
 * files, and functions of the package in lowered form.
 */

import './own-functions.ts';
import './provide-cache.ts';
import './script-files.ts';

export * from '../index.ts';
