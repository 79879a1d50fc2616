import { isPlistDict, type PlistDict, type PlistInput } from '../../protocol/plist/plist.js';
import { type Application, createManagedApplication } from '../devices/applications.js';
import { openProfile, parseProfile } from '../devices/profiles.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import { acknowledged, type CommandHandler, failed } from './answer.js';

const installApplication: CommandHandler = (device, command) => {
  const { Identifier: bundleId, iTunesStoreID: storeId } = command;
  const { Configuration: configuration, Attributes: attributes } = command;
  const identifier =
    typeof bundleId === 'string' ? bundleId : storeId && `com.example.store.id${String(storeId)}`;
  if (typeof identifier !== 'string') {
    return failed(12_024, 'The app manifest could not be validated.');
  }
  if (device.applications.some((app) => app.identifier === identifier && app.isManaged)) {
    return failed(12_025, 'The app is already installed.');
  }
  const others = device.applications.filter((app) => app.identifier !== identifier);
  const installed = {
    ...createManagedApplication(identifier, device.random),
    configuration: isPlistDict(configuration) ? configuration : undefined,
    attributes: isPlistDict(attributes) ? attributes : undefined,
  };
  device.applications = [...others, installed];
  return acknowledged({ Identifier: identifier, State: 'Installing' });
};

const removeApplication: CommandHandler = (device, command) => {
  const found = device.applications.find(
    ({ identifier, isManaged }) => isManaged && identifier === command.Identifier,
  );
  if (found === undefined)
    return failed(12_035, 'The app is not managed.', 'MCInstallationErrorDomain');
  device.applications = device.applications.filter((app) => app !== found);
  return acknowledged();
};

/** One entry for each managed application that the command names and that has such a dictionary. */
function managedEntries(
  { applications }: SimulatedDevice,
  { Identifiers: identifiers }: PlistDict,
  entryOf: (app: Application) => Record<string, PlistInput | undefined>,
): PlistInput[] {
  const named = Array.isArray(identifiers) ? identifiers : [];
  return applications
    .filter(({ isManaged, identifier }) => isManaged && named.some((name) => name === identifier))
    .map((app) => ({ Identifier: app.identifier, ...entryOf(app) }));
}

const answerConfigurations: CommandHandler = (device, command) =>
  acknowledged({
    ApplicationConfigurations: managedEntries(device, command, ({ configuration }) => ({
      Configuration: configuration,
    })),
  });

const answerAttributes: CommandHandler = (device, command) =>
  acknowledged({
    ApplicationAttributes: managedEntries(device, command, ({ attributes }) => ({
      Attributes: attributes,
    })),
  });

const BOOK_KEYS = ['iTunesStoreID', 'PersistentID', 'Kind', 'Version', 'Author', 'Title'];

/** A book of the store has a number, another one a persistent identifier. */
function bookName({ iTunesStoreID: storeId, PersistentID: persistentId }: PlistDict) {
  const name = storeId ?? persistentId;
  return name === undefined ? undefined : String(name);
}

const installMedia: CommandHandler = (device, command) => {
  const name = bookName(command);
  if (name === undefined) return { status: 'CommandFormatError' };
  const known = BOOK_KEYS.filter((key) => command[key] !== undefined);
  const book = Object.fromEntries(known.map((key) => [key, command[key]])) as PlistDict;
  device.books.set(name, book);
  const { iTunesStoreID, MediaURL, PersistentID, MediaType } = command;
  return acknowledged({ iTunesStoreID, MediaURL, PersistentID, MediaType, State: 'Installing' });
};

const removeMedia: CommandHandler = (device, command) =>
  device.books.delete(bookName(command) ?? '')
    ? acknowledged()
    : failed(12_029, 'The book is not managed.');

const answerMedia: CommandHandler = ({ books }) =>
  acknowledged({ Books: [...books.values()].map((book) => ({ ...book, State: 'Managed' })) });

function readProvisioningProfile(file: Buffer): PlistDict | undefined {
  try {
    return parseProfile(openProfile(file).plist);
  } catch {
    return undefined; // a device reports only that the profile is invalid
  }
}

const installProvisioningProfile: CommandHandler = (device, { ProvisioningProfile: file }) => {
  if (!Buffer.isBuffer(file)) return { status: 'CommandFormatError' };
  const profile = readProvisioningProfile(file);
  if (typeof profile?.UUID !== 'string' || typeof profile.Name !== 'string') {
    return failed(25_000, 'The provisioning profile is invalid.', 'MCProvisioningErrorDomain');
  }
  device.provisioningProfiles.set(profile.UUID, profile);
  return acknowledged();
};

const removeProvisioningProfile: CommandHandler = (device, { UUID: uuid }) =>
  device.provisioningProfiles.delete(String(uuid))
    ? acknowledged()
    : failed(12_014, 'The provisioning profile is not managed.');

const answerProvisioningProfiles: CommandHandler = ({ provisioningProfiles }) =>
  acknowledged({
    ProvisioningProfileList: [...provisioningProfiles.values()].map(
      ({ Name, UUID, ExpirationDate }) => ({ Name, UUID, ExpiryDate: ExpirationDate }),
    ),
  });

/** Commands about applications, books and provisioning profiles. */
export const CONTENT_COMMANDS: Record<string, CommandHandler> = {
  InstallApplication: installApplication,
  RemoveApplication: removeApplication,
  ManagedApplicationConfiguration: answerConfigurations,
  ManagedApplicationAttributes: answerAttributes,
  InstallMedia: installMedia,
  RemoveMedia: removeMedia,
  ManagedMediaList: answerMedia,
  InstallProvisioningProfile: installProvisioningProfile,
  RemoveProvisioningProfile: removeProvisioningProfile,
  ProvisioningProfileList: answerProvisioningProfiles,
};
