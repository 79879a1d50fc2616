// What more than one task does.

/** Opens a page of the console, signed in as admin, wherever the last task ended. */
export async function open({ page, url, token }, path) {
  await page.goto(url + path);
  const signedIn = page.getByRole('button', { name: 'Sign out' });
  const field = page.getByLabel('API token');
  await signedIn.or(field).waitFor();
  if (!(await field.isVisible())) return;
  await field.fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await signedIn.waitFor();
  await page.goto(url + path);
}

/** Presses Tab until the element has the focus. */
export async function tabTo(page, target) {
  await target.waitFor();
  for (let press = 0; press < 150; press += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('the element cannot be reached by Tab');
}

/** Opens the menu of the button by keyboard and presses the down arrow until its item has the focus. */
export async function choose(page, button, name) {
  await tabTo(page, button);
  await page.keyboard.press('Enter');
  const item = page.getByRole('menuitem', { name });
  await item.waitFor();
  for (let press = 0; press < 20; press += 1) {
    if (await item.evaluate((element) => element === document.activeElement)) return item;
    await page.keyboard.press('ArrowDown');
  }
  throw new Error(`the item ${name} cannot be reached by arrows`);
}

/** Throws unless both are equal. */
export function assertEqual(actual, expected, what) {
  if (actual === expected) return;
  throw new Error(`${what}: ${JSON.stringify(actual)} in place of ${JSON.stringify(expected)}`);
}
