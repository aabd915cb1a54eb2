package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const postgresPause = 2 * time.Millisecond

const postgresTake = `WITH taken AS (
  SELECT id FROM load ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
) DELETE FROM load USING taken WHERE load.id = taken.id RETURNING load.body`

// A table that is used as a queue: who takes rows deletes them, and commits when they are done.
type postgres struct{ address string }

func newPostgres(address string) Broker { return &postgres{address} }

func (p *postgres) Prepare(ctx context.Context) error {
	connection, err := pgx.Connect(ctx, p.address)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, "DROP TABLE IF EXISTS load; CREATE TABLE load (id bigserial PRIMARY KEY, body bytea)")
	return err
}

func (p *postgres) Sender(ctx context.Context) (Sender, error) { return p.connect(ctx) }

func (p *postgres) Receiver(ctx context.Context) (Receiver, error) { return p.connect(ctx) }

func (p *postgres) connect(ctx context.Context) (*postgresConnection, error) {
	connection, err := pgx.Connect(ctx, p.address)
	return &postgresConnection{connection, ctx}, err
}

type postgresConnection struct {
	connection *pgx.Conn
	ctx        context.Context
}

func (c *postgresConnection) Send(bodies [][]byte) error {
	_, err := c.connection.Exec(c.ctx, "INSERT INTO load (body) SELECT unnest($1::bytea[])", bodies)
	return err
}

func (c *postgresConnection) Receive(max int) (Messages, error) {
	transaction, err := c.connection.Begin(c.ctx)
	if err != nil {
		return Messages{}, err
	}
	rows, err := transaction.Query(c.ctx, postgresTake, max)
	if err != nil {
		return Messages{}, err
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return Messages{}, err
	}
	if len(bodies) == 0 {
		time.Sleep(postgresPause)
		return Messages{}, transaction.Rollback(c.ctx)
	}
	return Messages{bodies, transaction}, nil
}

func (c *postgresConnection) Ack(messages Messages) error {
	return messages.Settlement.(pgx.Tx).Commit(c.ctx)
}
