// Bundles src/ into one HTML file: node build.mjs OUTPUT
import {build} from 'esbuild';
import {readFile, writeFile} from 'node:fs/promises';

const PLACEHOLDER = '@SCREE_REPLAY_DATA@';

const [output] = process.argv.slice(2);
if (!output) throw new Error('usage: node build.mjs OUTPUT');

const bundle = async (entry, options) => {
  const result = await build({
    entryPoints: [entry], bundle: true, minify: true, write: false, target: 'es2020', legalComments: 'none',
    charset: 'ascii', ...options,
  });
  return result.outputFiles[0].text.trim();
};

const script = await bundle('src/main.ts', {format: 'iife'});
const style = await bundle('src/style.css');
const licenses = (await Promise.all(['three', 'uplot'].map(async (name) =>
  `${name}\n\n${await readFile(`node_modules/${name}/LICENSE`, 'utf8')}`))).join('\n');

// Replacements as functions: a "$" in minified code is no pattern.
const page = (await readFile('src/template.html', 'utf8'))
  .replace('@STYLE@', () => style)
  .replace('@SCRIPT@', () => script)
  .replace('@LICENSES@', () => licenses);
if (page.split(PLACEHOLDER).length !== 2) throw new Error(`${PLACEHOLDER} must occur exactly once in the page`);
await writeFile(output, page);
