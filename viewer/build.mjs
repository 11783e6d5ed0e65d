// Bundles src/ into four HTML files, replay.html, study.html, impact.html and fan.html: node build.mjs DIRECTORY
import {build} from 'esbuild';
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';

const [directory] = process.argv.slice(2);
if (!directory) throw new Error('usage: node build.mjs DIRECTORY');

const bundle = async (entry, options) => {
  const result = await build({
    entryPoints: [entry], bundle: true, minify: true, write: false, target: 'es2020', legalComments: 'none',
    charset: 'ascii', ...options,
  });
  return result.outputFiles[0].text.trim();
};

async function makePage({name, template, script, style, libraries, placeholder}) {
  const code = await bundle(script, {format: 'iife'});
  const rules = await bundle(style);
  const licenses = (await Promise.all(libraries.map(async (library) =>
    `${library}\n\n${await readFile(`node_modules/${library}/LICENSE`, 'utf8')}`))).join('\n');
  // Replacements as functions: a "$" in minified code is no pattern.
  const page = (await readFile(template, 'utf8'))
    .replace('@STYLE@', () => rules)
    .replace('@SCRIPT@', () => code)
    .replace('@LICENSES@', () => licenses);
  if (page.split(placeholder).length !== 2) throw new Error(`${placeholder} must occur exactly once in ${name}`);
  await writeFile(join(directory, name), page);
}

await makePage({
  name: 'replay.html', template: 'src/template.html', script: 'src/main.ts', style: 'src/style.css',
  libraries: ['three', 'uplot'], placeholder: '@SCREE_REPLAY_DATA@',
});
await makePage({
  name: 'study.html', template: 'src/study.html', script: 'src/study.ts', style: 'src/study.css',
  libraries: ['uplot'], placeholder: '@SCREE_STUDY_DATA@',
});
await makePage({
  name: 'impact.html', template: 'src/impact.html', script: 'src/impact.ts', style: 'src/impact.css',
  libraries: ['uplot'], placeholder: '@SCREE_IMPACT_DATA@',
});
await makePage({
  name: 'fan.html', template: 'src/fan.html', script: 'src/fan.ts', style: 'src/fan.css',
  libraries: ['three', 'uplot'], placeholder: '@SCREE_FAN_DATA@',
});
