// Pages in a real browser, for the tests beside this file. Environment:
//   SCREE_VIEWER_DIR  directory whose node_modules hold playwright-core
//   SCREE_CHROMIUM    the browser (optional, default /usr/bin/chromium)
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {pathToFileURL} from 'node:url';

const chromiumPath = process.env.SCREE_CHROMIUM ?? '/usr/bin/chromium';
const missing = existsSync(chromiumPath) ? false : `no chromium at ${chromiumPath}`;
if (missing) console.log(`SKIP: ${missing}`);

export const webgl = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];

// All that a check can have changed: what the page says, its controls, its drawings, and where the 3-D view looks from
// and at what time. The pointer, the focus, the scroll bars and the time are first put where they were.
async function stateOf(page) {
  await page.mouse.move(0, 0);
  return page.evaluate(() => {
    const {player, view} = window.scree ?? {};
    player?.pause();
    player?.seek(player.first);
    document.activeElement?.blur();
    window.scrollTo(0, 0);
    const said = Array.from(document.body.children).filter((e) => e.tagName !== 'SCRIPT').map((e) => e.outerHTML);
    const controls = Array.from(document.querySelectorAll('input, select'), (e) => [e.id, e.value, e.checked]);
    const drawn = Array.from(document.querySelectorAll('canvas'), (e) => e.id === 'view' ? 0 : e.toDataURL());
    const root = Array.from(document.documentElement.attributes, (a) => [a.name, a.value]);
    return JSON.stringify([root, said, controls, drawn, view?.camera.matrixWorld, view?.following]);
  });
}

// Returns pageTest(name, file, check, options): a test on a page that must stay free of errors and requests; `check` gets
// it once `ready`. Loading a page and drawing its first picture takes seconds, so a page that a check left as it found
// it serves the next check with the same file and options. `prepare` runs before all tests and writes the pages.
export function pageTests({viewport, args = [], prepare, ready = async () => {}}) {
  let browser;
  const unchanged = new Map();  // pages left as they were, by file and options
  before(async () => {
    if (missing) return;
    const {chromium} = createRequire(join(process.env.SCREE_VIEWER_DIR, 'package.json'))('playwright-core');
    prepare();
    browser = await chromium.launch({executablePath: chromiumPath, args: ['--no-sandbox', ...args]});
  });
  after(() => browser?.close());

  const open = async (file, {initScript, ...options}) => {
    const context = await browser.newContext({viewport, colorScheme: 'light', ...options});
    const page = await context.newPage();
    page.setDefaultTimeout(110_000);  // a busy machine is no failure before the test's own time is up
    const url = pathToFileURL(file).href;
    const opened = {page, errors: [], requests: []};
    page.on('console', (message) => { if (message.type() === 'error') opened.errors.push(message.text()); });
    page.on('pageerror', (error) => opened.errors.push(String(error)));
    page.on('request', (request) => { if (request.url() !== url) opened.requests.push(request.url()); });
    if (initScript) await page.addInitScript(initScript);
    await page.goto(url);
    await ready(page);
    opened.state = await stateOf(page);
    return opened;
  };

  return (name, file, check, {mayLogErrors, ...options} = {}) => test(name, {skip: missing, timeout: 120_000}, async () => {
    const key = JSON.stringify([file, options, String(options.initScript)]);
    const opened = unchanged.get(key) ?? await open(file, options);
    unchanged.delete(key);
    await check(opened.page);
    if (!mayLogErrors) assert.deepEqual(opened.errors, []);
    assert.deepEqual(opened.requests.filter((r) => !r.startsWith('data:')), []);
    if (await stateOf(opened.page) === opened.state) unchanged.set(key, opened);
    else await opened.page.context().close();
  });
}
