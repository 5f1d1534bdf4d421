/**
 * The package in Node: everything that a page has, a cache in files (`TOSTATIC_CACHE`), and scripts read from their
 * files.
 */

import './provide-cache.ts';
import './script-files.ts';

export * from '../index.ts';
