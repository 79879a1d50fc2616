// What the server refuses is said at its field, which then has the focus.
import { open } from '../support/steps.mjs';

async function waitForFault(page, field, said) {
  await field.and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  const about = await field.getAttribute('aria-describedby');
  await page.locator(`[id="${about}"][role="alert"]`, { hasText: said }).waitFor();
}

export const TASKS = {
  'the name of a view that is too long is refused at its field': async (session) => {
    const { page } = session;
    await open(session, '/devices');
    await page.getByRole('button', { name: 'Saved views' }).click();
    await page.getByRole('button', { name: 'Save this view …' }).click();
    const dialog = page.getByRole('dialog');
    const name = dialog.getByLabel('Name');
    await name.fill('x'.repeat(300));
    await dialog.getByRole('button', { name: 'Save' }).click();
    await waitForFault(page, name, 'Must have at most 255 characters.');
    await session.assertAccessible();
  },

  'a new tag for the selected devices is refused at its field if it exists': async (session) => {
    const { page, lab } = session;
    const tag = { type: 'tags', attributes: { name: 'Taken' } };
    await lab.api('POST', '/tags', { data: tag });
    await open(session, '/devices');
    await page.getByRole('row').nth(1).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Tag or group …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tag', { exact: true }).selectOption({ label: 'A new tag' });
    const name = dialog.getByLabel('Name');
    await name.fill('Taken');
    await page.keyboard.press('Enter');
    await waitForFault(page, name, 'This name exists already. Choose another.');
    await lab.query(`delete from tags where name = 'Taken'`);
  },

  'a tag whose name is blank is refused at its field': async (session) => {
    const { page } = session;
    await open(session, '/groups/tags');
    await page.getByRole('button', { name: 'New tag' }).click();
    const name = page.getByRole('dialog').getByLabel('Name');
    await name.fill('   ');
    await page.keyboard.press('Enter');
    await waitForFault(page, name, 'Must have at least 1 character.');
    await name.fill('Lobby');
    await page.getByRole('alert').waitFor({ state: 'detached' });
  },

  'a command that the server refuses has the focus at its field': async (session) => {
    const { page } = session;
    await open(session, '/commands/new?rules=%5B%5D&type=InviteToProgram');
    const url = page.getByLabel(/^Invitation URL/);
    await url.fill('nope');
    await page.keyboard.press('Enter');
    await url.and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  },

  'a push certificate that is refused is refused at its file': async (session) => {
    const { page } = session;
    await open(session, '/set-up');
    const renew = page.getByRole('button', { name: 'Renew or replace the push certificate' });
    const file = page.getByLabel('Certificate from Apple (.pem)');
    await renew.or(file).first().waitFor();
    if (await renew.isVisible()) await renew.click();
    const buffer = Buffer.from('none');
    await file.setInputFiles({ name: 'push.pem', mimeType: 'application/x-pem-file', buffer });
    await page.getByRole('button', { name: 'Upload certificate' }).click();
    await waitForFault(page, file, 'the lab has its own');
  },

  'an organization without a name is refused at its field': async (session) => {
    const { page } = session;
    await open(session, '/settings/organization');
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('');
    await page.getByRole('button', { name: 'Save organization' }).click();
    await waitForFault(page, name, 'Fill this in.');
    await session.assertAccessible();
  },
};
