import { acknowledged, type CommandHandler, failed } from './answer.js';

const FIRST_UID = 501;

const answerUsers: CommandHandler = ({ user, identity }) => {
  if (user === undefined || user.isDeleted) return acknowledged({ Users: [] });
  const account =
    identity.platform === 'macOS'
      ? {
          FullName: user.longName,
          UID: FIRST_UID,
          UserGUID: user.id,
          MobileAccount: false,
          HasSecureToken: true,
        }
      : { DataQuota: 2_000_000_000, DataUsed: 250_000_000, HasDataToSync: false };
  const { shortName: UserName, isLoggedIn: IsLoggedIn } = user;
  return acknowledged({ Users: [{ UserName, IsLoggedIn, ...account }] });
};

const logOutUser: CommandHandler = ({ user }) => {
  if (user?.isLoggedIn !== true) return failed(12_070, 'No user is logged in.');
  user.isLoggedIn = false;
  return acknowledged();
};

const deleteUser: CommandHandler = ({ user }, { UserName: name, DeleteAllUsers: all }) => {
  const isNamed = all === true || name === user?.shortName;
  if (user === undefined || user.isDeleted || !isNamed) {
    return failed(12_071, 'The user does not exist.');
  }
  if (user.isLoggedIn) return failed(12_072, 'The user is logged in.');
  user.isDeleted = true;
  return acknowledged();
};

const unlockUserAccount: CommandHandler = ({ user }, { UserName: name }) =>
  name === user?.shortName ? acknowledged() : failed(12_071, 'The user does not exist.');

/** Commands about the one user of a Mac or a Shared iPad. */
export const USER_COMMANDS: Record<string, CommandHandler> = {
  UserList: answerUsers,
  LogOutUser: logOutUser,
  DeleteUser: deleteUser,
  UnlockUserAccount: unlockUserAccount,
};
