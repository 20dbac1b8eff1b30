// Runs the statements of its input in ClickHouse, as a library of Node.js: npm install chdb. Prints the rows as TSV.
const { readFileSync } = require("node:fs");
const { Session } = require("chdb");

const session = new Session(process.argv[2]);
for (const statement of readFileSync(0, "utf8").split(";\n")) {
  if (statement.trim() !== "") {
    process.stdout.write(String(session.query(statement, "TSV") ?? ""));
  }
}
