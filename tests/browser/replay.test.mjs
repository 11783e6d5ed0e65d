// The replay page in a real browser. Environment:
//   SCREE_MAKE_REPLAY  executable that writes the replays of make_replay.cpp into a directory
//   SCREE_VIEWER_DIR   directory whose node_modules hold playwright-core
//   SCREE_REPLAY_DIR   where the replays go
//   SCREE_REPLAY_HTML  instead of the generated main replay: one written by `scree sim --html` (optional)
//   SCREE_CHROMIUM     the browser (optional, default /usr/bin/chromium)
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';
import {after, before, test} from 'node:test';
import {pathToFileURL} from 'node:url';

const chromiumPath = process.env.SCREE_CHROMIUM ?? '/usr/bin/chromium';
const missing = existsSync(chromiumPath) ? false : `no chromium at ${chromiumPath}`;
if (missing) console.log(`SKIP: ${missing}`);

const directory = resolve(process.env.SCREE_REPLAY_DIR ?? 'replays');
const replay = (name) => join(directory, `${name}.html`);
const mainReplay = process.env.SCREE_REPLAY_HTML ?? replay('all_shapes');
let browser;

before(async () => {
  if (missing) return;
  const {chromium} = createRequire(join(process.env.SCREE_VIEWER_DIR, 'package.json'))('playwright-core');
  execFileSync(process.env.SCREE_MAKE_REPLAY, [directory], {stdio: 'inherit'});
  browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
  });
});
after(() => browser?.close());

// Opens a page that must stay free of errors and requests; `check` gets the page.
function pageTest(name, file, check, options = {}) {
  test(name, {skip: missing, timeout: 120_000}, async () => {
    const context = await browser.newContext({viewport: {width: 900, height: 600}, colorScheme: 'light', ...options});
    const page = await context.newPage();
    const errors = [], requests = [];
    page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('request', (request) => requests.push(request.url()));
    if (options.initScript) await page.addInitScript(options.initScript);
    const url = pathToFileURL(file).href;
    await page.goto(url);
    await check(page);
    if (!options.mayLogErrors) assert.deepEqual(errors, []);
    assert.deepEqual(requests.filter((r) => r !== url && !r.startsWith('data:')), []);
    await context.close();
  });
}

// What the 3-D canvas shows now: distinct colours, a checksum, share of pixels like the corner's.
const picture = (page) => page.evaluate(() => {
  const canvas = document.getElementById('view');
  window.scree.view.render();  // in the same task as the read: WebGL drops the picture afterwards
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext('2d');
  context.drawImage(canvas, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer);
  let hash = 0;
  let background = 0;
  for (const pixel of pixels) {
    hash = (Math.imul(hash, 31) + pixel) | 0;
    if (pixel === pixels[0]) background += 1;
  }
  return {colours: new Set(pixels).size, hash, background: background / pixels.length};
});

const clock = (page) => page.evaluate(() => window.scree.player.time);
const setSlider = (page, share) => page.evaluate((s) => {
  const slider = document.getElementById('scrub');
  slider.value = String(Number(slider.min) + s * (Number(slider.max) - Number(slider.min)));
  slider.dispatchEvent(new Event('input', {bubbles: true}));
}, share);

pageTest('the canvas shows the model and changes when the time is scrubbed', mainReplay, async (page) => {
  const start = await picture(page);
  assert.ok(start.colours > 200, `${start.colours} colours`);
  assert.ok(start.background < 0.9, `${start.background} of the canvas is background`);
  await setSlider(page, 0.37);
  const later = await picture(page);
  assert.notEqual(later.hash, start.hash);
  await setSlider(page, 0);
  assert.equal((await picture(page)).hash, start.hash, 'the same time gives the same picture');
});

pageTest('play moves the time, pause stops it, speed scales it', mainReplay, async (page) => {
  const label = () => page.textContent('#clock');
  const before = await label();
  await page.click('#play');
  await page.waitForFunction(() => window.scree.player.time > window.scree.player.first);
  assert.notEqual(await label(), before);
  assert.equal(await page.getAttribute('#play', 'aria-label'), 'Pause');
  await page.click('#play');
  const stopped = await clock(page);
  await page.waitForTimeout(200);
  assert.equal(await clock(page), stopped);

  // Driven by a clock of our own: what a slow machine draws does not matter.
  const advance = (speed) => page.evaluate((s) => {
    const {player} = window.scree;
    const select = document.getElementById('speed');
    select.value = s;
    select.dispatchEvent(new Event('change'));
    player.seek(player.first);
    player.play();
    const from = performance.now() + 1;
    player.tick(from);
    const t0 = player.time;
    player.tick(from + 50);
    player.pause();
    return player.time - t0;
  }, speed);
  for (const speed of ['0.1', '1', '4'])
    assert.ok(Math.abs(await advance(speed) - 0.05 * Number(speed)) < 1e-9, `speed ${speed}`);
});

pageTest('at the end playback stops, or starts again when looping', mainReplay, async (page) => {
  const finish = () => page.evaluate(() => {
    const {player} = window.scree;
    player.seek(player.end - 0.001);
    player.play();
    const now = performance.now() + 1;
    player.tick(now);
    player.tick(now + 20);
    const result = {playing: player.playing, time: player.time, first: player.first, end: player.end};
    player.pause();
    return result;
  });
  const once = await finish();
  assert.equal(once.playing, false);
  assert.equal(once.time, once.end);
  await page.click('#loop');
  const looped = await finish();
  assert.equal(looped.playing, true);
  assert.ok(looped.time < looped.first + 0.05);
});

pageTest('keys play, step and seek', mainReplay, async (page) => {
  const times = await page.evaluate(() => Array.from(window.scree.replay.frames.time));
  const last = times.length - 1;
  await page.keyboard.press('ArrowRight');
  assert.equal(await clock(page), times[1]);
  await page.keyboard.press('Shift+ArrowRight');
  assert.equal(await clock(page), times[11]);
  await page.keyboard.press('ArrowLeft');
  assert.equal(await clock(page), times[10]);
  await page.keyboard.press('End');
  assert.equal(await clock(page), times[last]);
  await page.focus('#scrub');  // the slider's own keys must not add to ours
  await page.keyboard.press('ArrowLeft');
  assert.equal(await clock(page), times[last - 1]);
  await page.keyboard.press('Home');
  assert.equal(await clock(page), times[0]);
  await page.keyboard.press(' ');
  assert.equal(await page.evaluate(() => window.scree.player.playing), true);
  await page.keyboard.press(' ');
  assert.equal(await page.evaluate(() => window.scree.player.playing), false);
});

pageTest('plots hold the data, draw it, follow the time and seek on click', mainReplay, async (page) => {
  const plots = await page.evaluate(() => Array.from(document.querySelectorAll('.plot canvas'), (canvas) => {
    const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return new Set(pixels).size;
  }));
  assert.ok(plots.length >= 3, `${plots.length} plots`);
  for (const colours of plots) assert.ok(colours > 20, `a plot has ${colours} colours`);
  assert.ok(await page.evaluate(() => window.scree.seriesLength) > 50);
  assert.ok(await page.evaluate(() => window.scree.frameCount) > 50);

  const box = await page.locator('.plot .u-over').first().boundingBox();
  await page.mouse.click(box.x + 0.25 * box.width, box.y + 0.5 * box.height);
  const {time, first, end} = await page.evaluate(() => {
    const {player} = window.scree;
    return {time: player.time, first: player.first, end: player.end};
  });
  assert.ok(Math.abs((time - first) / (end - first) - 0.25) < 0.02, `seeked to ${time}`);
  const lines = await page.evaluate(() => Array.from(document.querySelectorAll('.plot .u-over'), (over) =>
    (over.querySelector('.now').getBoundingClientRect().left - over.getBoundingClientRect().left) / over.clientWidth));
  for (const x of lines) assert.ok(Math.abs(x - 0.25) < 0.02, `a time line stands at ${x}`);
});

pageTest('texts: title, decimation, settings, status', replay('all_shapes'), async (page) => {
  assert.equal(await page.textContent('#title'), 'Every shape, every joint');
  assert.match(await page.textContent('#subtitle'), /every 4th of 801 recorded rows/);
  assert.equal(await page.locator('#settings tr').count(), 4);
  assert.match(await page.textContent('#settings'), /gravity.*-9\.81/s);
  assert.ok(await page.isHidden('#banner'));
  const unnamed = await page.evaluate(() => Array.from(document.querySelectorAll('button, select, input'))
    .filter((e) => !(e.getAttribute('aria-label') ?? (e.textContent || e.closest('label')?.textContent || '')).trim()).length);
  assert.equal(unnamed, 0, 'controls without a name');
});

pageTest('more joints than a plot takes are chosen by a picker', replay('all_shapes'), async (page) => {
  const buttons = page.locator('#plots section', {hasText: 'Joint angles'}).locator('.legend button');
  assert.equal(await buttons.count(), 8);
  const picker = page.locator('.picker:visible').first();
  await picker.locator('summary').click();
  await picker.getByLabel('right_joint5').check();
  assert.equal(await buttons.count(), 9);
});

pageTest('toggles change the picture, dark changes the page', replay('all_shapes'), async (page) => {
  let last = (await picture(page)).hash;
  for (const id of ['trail', 'frames', 'collision']) {
    await page.click(`#${id}`);
    assert.equal(await page.getAttribute(`#${id}`, 'aria-pressed'), 'true');
    const now = (await picture(page)).hash;
    assert.notEqual(now, last, id);
    last = now;
  }
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.click('#theme');
  assert.notEqual(await background(), light);
  assert.notEqual((await picture(page)).hash, last);
  await page.keyboard.press('d');
  assert.equal(await background(), light);
});

pageTest('following keeps the centre of mass in place on the screen', replay('all_shapes'), async (page) => {
  const offset = () => page.evaluate(() => window.scree.view.orbit.target.clone().sub(window.scree.view.centre).toArray());
  await page.click('#follow');
  const before = await offset();
  await setSlider(page, 0.8);
  (await offset()).forEach((x, k) => assert.ok(Math.abs(x - before[k]) < 1e-6));
});

pageTest('a system set to dark gets a dark page', replay('all_shapes'), async (page) => {
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
}, {colorScheme: 'dark'});

pageTest('a small window has everything in reach and no sideways scrolling', replay('all_shapes'), async (page) => {
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  for (const id of ['play', 'scrub', 'loop', 'view']) assert.ok(await page.isVisible(`#${id}`), id);
  assert.ok((await picture(page)).colours > 100);
}, {viewport: {width: 360, height: 640}});

pageTest('markup in title and settings is shown, not run; a failed run says so', replay('hostile_title'), async (page) => {
  assert.equal(await page.evaluate(() => window.injected), undefined);
  assert.match(await page.textContent('#title'), /^<\/script><script>/);
  assert.match(await page.textContent('#settings'), /<script>/);
  assert.match(await page.textContent('#banner'), /did not converge/);
});

pageTest('one row and no shapes still give a picture', replay('one_row'), async (page) => {
  const shown = await picture(page);
  assert.ok(shown.colours > 100, `${shown.colours} colours`);
  await page.keyboard.press(' ');
  assert.equal(await page.evaluate(() => window.scree.player.playing), false);
});

pageTest('without WebGL the page says so and the plots work', replay('all_shapes'), async (page) => {
  assert.match(await page.textContent('#no-webgl'), /WebGL/);
  assert.ok(await page.isVisible('#no-webgl'));
  await page.keyboard.press('End');
  assert.equal(await clock(page), await page.evaluate(() => window.scree.player.end));
  assert.ok(await page.locator('.plot canvas').count() >= 3);
}, {
  mayLogErrors: true,  // three.js reports the missing context itself
  initScript: () => {
    const original = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function(type, ...rest) {
      return type.startsWith('webgl') ? null : original.call(this, type, ...rest);
    };
  },
});
