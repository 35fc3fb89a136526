// SPDX-License-Identifier: Apache-2.0
//
// Opens a page of a folder in headless Chromium with WebGPU (SwiftShader), waits for `window.ortcResult`, prints it as
// JSON, and takes a picture.
//
//   node open_page.mjs FOLDER PAGE [--screenshot=FILE.png] [--timeout=SECONDS]
//
// The page may set `window.ortcResult = {error: ...}`. Exit: 0; 1 an error, or no result in time; 2 usage; 3 no Chromium.
import { createServer } from 'node:http';
import { existsSync, mkdtempSync, rmSync, statSync, createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, normalize, resolve, sep } from 'node:path';

import { giveUp, loadPackage } from './dawn.mjs';

const positional = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const option = (name) => process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
if (positional.length !== 2) giveUp(2, 'usage: node open_page.mjs FOLDER PAGE [--screenshot=FILE.png] [--timeout=SECONDS]');
const [root, page] = [resolve(positional[0]), positional[1]];
const timeout = 1000 * Number(option('timeout') ?? 120);
const browsers = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = browsers.find((path) => path && existsSync(path));
if (!executablePath) giveUp(3, 'error: there is no Chromium; set CHROMIUM to its path');
const playwright = await loadPackage('playwright-core', 'index.mjs');

const TYPES = {
  '.html': 'text/html', '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm',
  '.wgsl': 'text/plain', '.json': 'application/json', '.css': 'text/css', '.png': 'image/png',
};
const server = createServer((request, response) => {
  const file = normalize(join(root, decodeURIComponent(new URL(request.url, 'http://localhost').pathname)));
  if (!file.startsWith(root + sep) || !existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    'content-length': statSync(file).size,
    // So that pages with threads work too.
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
  });
  createReadStream(file).pipe(response);
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));

const profile = mkdtempSync(join(tmpdir(), 'ortc-page-'));
const args = ['--disable-gpu-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--enable-unsafe-webgpu'];
if (process.getuid?.() === 0) args.push('--no-sandbox');
const context = await playwright.chromium.launchPersistentContext(profile, { executablePath, headless: true, args });
let status = 1;
try {
  const tab = context.pages()[0] ?? (await context.newPage());
  tab.on('console', (message) => process.stderr.write(`console: ${message.text()}\n`));
  tab.on('pageerror', (error) => process.stderr.write(`page: ${error.message}\n`));
  await tab.goto(`http://127.0.0.1:${server.address().port}/${page}`);
  await tab.waitForFunction('window.ortcResult', null, { timeout });
  const result = await tab.evaluate('window.ortcResult');
  if (option('screenshot')) await tab.screenshot({ path: option('screenshot') });
  console.log(JSON.stringify(result));
  status = result.error ? 1 : 0;
} catch (error) {
  process.stderr.write(`error: ${error.message}\n`);
} finally {
  await context.close();
  server.close();
  rmSync(profile, { recursive: true, force: true });
}
process.exit(status);
