package example;

import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.id.IdentifierGenerator;

/**
 * IDs for Hibernate: annotate keys with an annotation that has {@code
 * @IdGeneratorType(HibernateIds.class)}.
 */
public final class HibernateIds implements IdentifierGenerator {
    @Override
    public Object generate(SharedSessionContractImplementor session, Object object) {
        return Ids.ORDERS.next();
    }
}
